// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fourier transforms of lines of a tensor: complex signals, and real ones and their spectra.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/portable/fft/transform.h>

#include <algorithm>
#include <type_traits>

namespace executorch::kernels::portable::fft {

inline constexpr int64_t kLanes = 8;
typedef float FourFloats __attribute__((vector_size(16), aligned(4), may_alias));
// Maximum number of elements of all lanes together. With more, cache misses take more time than
// lanes save.
inline constexpr int64_t kLanesLimit = 32768;

/// Lines that are transformed along one dimension. `n` is the length of the signal; the real
/// side's.
struct Job {
  const Strided& to;
  const Strided& from;
  int dim;
  int64_t n;
  bool forward;
  double scale;

  int64_t lanes() const {
    const int64_t lines = to.numel() / line_length(to, dim);
    return lines >= kLanes && n * kLanes <= kLanesLimit ? kLanes : 1;
  }
};

/// Calls f(to, from, count) for every group of `lanes` lines; the last group may be smaller.
template <class F>
void for_each_group(const Job& job, int64_t lanes, F&& f) {
  char *to[kLanes], *from[kLanes];
  int64_t count = 0;
  for_each_line(job.to, job.from, job.dim, [&](char* const* at) {
    to[count] = at[0], from[count] = at[1];
    if (++count == lanes) {
      f(to, from, count);
      count = 0;
    }
  });
  if (count == 0) return;
  for (int64_t lane = count; lane < lanes; ++lane) from[lane] = from[0];  // repeats lane 0
  f(to, from, count);
}

/// Calls f(the number of lanes, as a constant).
template <class F>
void with_lanes(int64_t lanes, F&& f) {
  if (lanes == 1) return f(std::integral_constant<int64_t, 1>());
  f(std::integral_constant<int64_t, kLanes>());
}

/// Transposes four lines of two complex numbers into four vectors over the lines (real, imaginary,
/// real, imaginary), and back.
inline void transpose_pairs(FourFloats* lines) {
  using V = FourFloats;
  const V even[] = {__builtin_shufflevector(lines[0], lines[1], 0, 4, 1, 5),
                    __builtin_shufflevector(lines[0], lines[1], 2, 6, 3, 7)};
  const V odd[] = {__builtin_shufflevector(lines[2], lines[3], 0, 4, 1, 5),
                   __builtin_shufflevector(lines[2], lines[3], 2, 6, 3, 7)};
  for (int i = 0; i < 2; ++i) {
    lines[2 * i] = __builtin_shufflevector(even[i], odd[i], 0, 1, 4, 5);
    lines[2 * i + 1] = __builtin_shufflevector(even[i], odd[i], 2, 3, 6, 7);
  }
}

/// Two pairs of each of four lines to vectors over the lines, the second pair's `step` further.
inline void read_turned(const char* const* lines, int64_t offset, const Parts<float>& to,
                        int64_t step) {
  FourFloats line[4];
  for (int k = 0; k < 4; ++k) line[k] = *reinterpret_cast<const FourFloats*>(lines[k] + offset);
  transpose_pairs(line);
  items<FourFloats>(to.re) = line[0], items<FourFloats>(to.im) = line[1];
  items<FourFloats>(to.re + step) = line[2], items<FourFloats>(to.im + step) = line[3];
}

inline void write_turned(char* const* lines, int64_t offset, const Parts<float>& from, int64_t step,
                         float scale) {
  FourFloats line[] = {items<FourFloats>(from.re) * scale, items<FourFloats>(from.im) * scale,
                       items<FourFloats>(from.re + step) * scale,
                       items<FourFloats>(from.im + step) * scale};
  transpose_pairs(line);
  for (int k = 0; k < 4; ++k) *reinterpret_cast<FourFloats*>(lines[k] + offset) = line[k];
}

/// Reads the first `n` complex numbers of each line into the lanes. Real parts are `step` bytes
/// apart; an imaginary part follows `gap` bytes after its real part.
template <class T>
void read_pairs(char* const* from, int64_t step, int64_t gap, int64_t lanes, int64_t n,
                const Parts<T>& to) {
  int64_t first = 0;
  if constexpr (std::is_same_v<T, float>) {
    const bool packed = lanes == kLanes && gap == sizeof(T) && step == 2 * gap;
    for (; packed && first + 2 <= n; first += 2) {
      for (int64_t lane = 0; lane < kLanes; lane += 4) {
        read_turned(from + lane, first * step, to.from(first * kLanes + lane), kLanes);
      }
    }
  }
  with_lanes(lanes, [&](auto width) {
    T *re = to.re + first * width, *im = to.im + first * width;
    for (int64_t i = first; i < n; ++i, re += width, im += width) {
      for (int64_t lane = 0; lane < width; ++lane) {
        const char* const at = from[lane] + i * step;
        re[lane] = *reinterpret_cast<const T*>(at);
        im[lane] = *reinterpret_cast<const T*>(at + gap);
      }
    }
  });
}

template <class T>
void read_complex(const Job& job, char* const* from, int64_t lanes, int64_t n, const Parts<T>& to) {
  read_pairs(from, line_stride(job.from, job.dim), sizeof(T), lanes, n, to);
}

/// Writes the first `count` lanes, multiplied by `scale`, to the layout of read_pairs.
template <class T>
void write_pairs(char* const* to, int64_t step, int64_t gap, int64_t lanes, int64_t count,
                 int64_t n, const Parts<T>& from, T scale) {
  int64_t first = 0;
  if constexpr (std::is_same_v<T, float>) {
    const bool packed = count == kLanes && gap == sizeof(T) && step == 2 * gap;
    for (; packed && first + 2 <= n; first += 2) {
      for (int64_t lane = 0; lane < kLanes; lane += 4) {
        write_turned(to + lane, first * step, from.from(first * kLanes + lane), kLanes, scale);
      }
    }
  }
  for (int64_t i = first; i < n; ++i) {
    for (int64_t lane = 0; lane < count; ++lane) {
      char* const at = to[lane] + i * step;
      *reinterpret_cast<T*>(at) = from.re[i * lanes + lane] * scale;
      *reinterpret_cast<T*>(at + gap) = from.im[i * lanes + lane] * scale;
    }
  }
}

template <class T>
void write_complex(const Job& job, char* const* to, int64_t count, int64_t lanes, int64_t n,
                   const Parts<T>& from) {
  write_pairs(to, line_stride(job.to, job.dim), sizeof(T), lanes, count, n, from,
              static_cast<T>(job.scale));
}

/// The second half of a real signal's spectrum mirrors the first.
template <class T>
void write_mirrored(const Job& job, char* const* to, int64_t count) {
  const int64_t stride = line_stride(job.to, job.dim);
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t k = job.n / 2 + 1; k < job.n; ++k) {
      auto* const number = reinterpret_cast<T*>(to[lane] + k * stride);
      const auto* const other = reinterpret_cast<const T*>(to[lane] + (job.n - k) * stride);
      number[0] = other[0], number[1] = -other[1];
    }
  }
}

template <class T>
bool complex_to_complex(KernelRuntimeContext& ctx, const Job& job) {
  Transform<T> transform;
  const int64_t lanes = job.lanes();
  if (!transform.prepare(ctx, job.n, lanes)) return false;
  for_each_group(job, lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_complex(job, from, lanes, job.n, transform.input());
    write_complex(job, to, count, lanes, job.n, transform.run(job.forward));
  });
  return true;
}

/// A real signal of even length is transformed as half as many complex numbers: even elements are
/// the real parts, odd ones the imaginary. This turns the spectrum of these numbers into the
/// signal's, which has one element more; elements k and half - k depend on each other. `w`: e^(-2πi
/// k/n).
template <class V, class T>
void split_spectrum(const Parts<T>& z, const Parts<T>& w, int64_t half, int64_t lanes) {
  for (int64_t l = 0; l < lanes; ++l) {
    const T re = z.re[l], im = z.im[l];
    z.re[l] = re + im, z.re[half * lanes + l] = re - im;
    z.im[l] = z.im[half * lanes + l] = 0;
  }
  for (int64_t k = 1; k <= half - k; ++k) {
    const int64_t here = k * lanes, there = (half - k) * lanes;
    for (int64_t l = 0; l < lanes; l += kItemsOf<V, T>) {
      const V here_re = items<V>(z.re + here + l), there_re = items<V>(z.re + there + l);
      const V here_im = items<V>(z.im + here + l), there_im = items<V>(z.im + there + l);
      const V even_re = (here_re + there_re) * T(0.5), even_im = (here_im - there_im) * T(0.5);
      const V gap_re = (here_im + there_im) * T(0.5), gap_im = (there_re - here_re) * T(0.5);
      const V odd_re = gap_re * w.re[k] - gap_im * w.im[k];
      const V odd_im = gap_im * w.re[k] + gap_re * w.im[k];
      items<V>(z.re + here + l) = even_re + odd_re, items<V>(z.im + here + l) = even_im + odd_im;
      items<V>(z.re + there + l) = even_re - odd_re, items<V>(z.im + there + l) = odd_im - even_im;
    }
  }
}

/// The inverse of split_spectrum, up to a factor of two that makes up for the half-length
/// transform. Writes half + 1 elements; the last one is unused.
template <class V, class T>
void join_spectrum(const Parts<T>& x, const Parts<T>& w, int64_t half, int64_t lanes,
                   const Parts<T>& z) {
  for (int64_t k = 0; k <= half - k; ++k) {
    const int64_t here = k * lanes, there = (half - k) * lanes;
    for (int64_t l = 0; l < lanes; l += kItemsOf<V, T>) {
      const V here_re = items<V>(x.re + here + l), there_re = items<V>(x.re + there + l);
      const V here_im = items<V>(x.im + here + l), there_im = items<V>(x.im + there + l);
      const V even_re = here_re + there_re, even_im = here_im - there_im;
      const V gap_re = here_re - there_re, gap_im = here_im + there_im;
      const V odd_re = gap_re * w.re[k] + gap_im * w.im[k];
      const V odd_im = gap_im * w.re[k] - gap_re * w.im[k];
      items<V>(z.re + there + l) = even_re + odd_im, items<V>(z.im + there + l) = odd_re - even_im;
      items<V>(z.re + here + l) = even_re - odd_im, items<V>(z.im + here + l) = even_im + odd_re;
    }
  }
}

/// A transform between a real signal and its spectrum.
template <class T>
struct RealTransform {
  Transform<T> transform;
  bool folded = false;
  int64_t lanes = 1;
  Parts<T> w;

  bool prepare(KernelRuntimeContext& ctx, const Job& job) {
    lanes = job.lanes();
    folded = job.n % 2 == 0;
    if (!transform.prepare(ctx, folded ? job.n / 2 : job.n, lanes)) return false;
    if (!folded) return true;
    return fft::unit_roots(ctx, job.n, job.n / 2 + 1, &w);
  }
};

template <class T>
void read_real(const Job& job, char* const* from, const RealTransform<T>& real) {
  const int64_t stride = line_stride(job.from, job.dim), length = real.transform.length();
  const Parts<T> to = real.transform.input();
  if (real.folded) return read_pairs(from, 2 * stride, stride, real.lanes, length, to);
  read_pairs(from, stride, 0, real.lanes, length, to);
  std::fill_n(to.im, length * real.lanes, T(0));
}

template <class T>
bool real_to_complex(KernelRuntimeContext& ctx, const Job& job) {
  RealTransform<T> real;
  if (!real.prepare(ctx, job)) return false;
  const bool whole = line_length(job.to, job.dim) == job.n;
  for_each_group(job, real.lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_real(job, from, real);
    const Parts<T> spectrum = real.transform.run(true);
    if (real.folded) {
      in_lanes<T>(real.lanes, [&](auto item) {
        split_spectrum<ET_TYPE_OF(item)>(spectrum, real.w, job.n / 2, real.lanes);
      });
    }
    write_complex(job, to, count, real.lanes, job.n / 2 + 1, spectrum);
    if (whole) write_mirrored<T>(job, to, count);
  });
  return true;
}

/// Reads a spectrum into the transform's layout. Ignores the imaginary parts of the mean and of the
/// highest frequency, which are zero for real signals.
template <class T>
void read_spectrum(const Job& job, char* const* from, const RealTransform<T>& real) {
  const int64_t lanes = real.lanes, half = job.n / 2;
  const Parts<T>& input = real.transform.input();
  const Parts<T>& x = real.folded ? real.transform.spare() : input;
  read_complex(job, from, lanes, half + 1, x);
  for (int64_t l = 0; l < lanes; ++l) {
    x.im[l] = 0;
    if (real.folded) x.im[half * lanes + l] = 0;
  }
  if (real.folded) {
    return in_lanes<T>(
        lanes, [&](auto item) { join_spectrum<ET_TYPE_OF(item)>(x, real.w, half, lanes, input); });
  }
  for (int64_t k = half + 1; k < job.n; ++k) {
    for (int64_t l = 0; l < lanes; ++l) {
      x.re[k * lanes + l] = x.re[(job.n - k) * lanes + l];
      x.im[k * lanes + l] = -x.im[(job.n - k) * lanes + l];
    }
  }
}

template <class T>
bool complex_to_real(KernelRuntimeContext& ctx, const Job& job) {
  RealTransform<T> real;
  if (!real.prepare(ctx, job)) return false;
  const int64_t stride = line_stride(job.to, job.dim), lanes = real.lanes;
  const T scale = static_cast<T>(job.scale);
  for_each_group(job, lanes, [&](char* const* to, char* const* from, int64_t count) {
    read_spectrum(job, from, real);
    const Parts<T> x = real.transform.run(false);
    const int64_t n = real.transform.length();
    if (real.folded) return write_pairs(to, 2 * stride, stride, lanes, count, n, x, scale);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t lane = 0; lane < count; ++lane) {
        *reinterpret_cast<T*>(to[lane] + i * stride) = x.re[i * lanes + lane] * scale;
      }
    }
  });
  return true;
}

}  // namespace executorch::kernels::portable::fft
