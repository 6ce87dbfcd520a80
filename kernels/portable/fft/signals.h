// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fourier transforms of lines of a tensor: complex signals, and real ones and their spectra.
#pragma once

#include <executorch/kernels/loops/dtype.h>
#include <executorch/kernels/loops/lines.h>
#include <executorch/kernels/portable/fft/transform.h>

#include <algorithm>
#include <type_traits>

namespace executorch::kernels::portable::fft {

inline constexpr int64_t kLanes = 8;
typedef float FourFloats __attribute__((vector_size(16), aligned(4), may_alias));
// Elements of all lanes together up to which they are worth more than the cache that they fill.
inline constexpr int64_t kLanesLimit = 32768;

// Lines that are transformed along one dimension. `n` is the length of the signal; the real side's.
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

// Calls f(to, from, count) for every group of `lanes` lines, the last of which may be smaller.
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
  for (int64_t lane = count; lane < lanes; ++lane) from[lane] = from[0];  // So that all are read.
  f(to, from, count);
}

// Calls f(the number of lanes, as a constant).
template <class F>
void with_lanes(int64_t lanes, F&& f) {
  if (lanes == 1) return f(std::integral_constant<int64_t, 1>());
  f(std::integral_constant<int64_t, kLanes>());
}

// Two pairs of floats from each of four lines become four vectors over the lines.
inline void turn_pairs(const char* const* lines, int64_t offset, float* re, float* im,
                       int64_t step) {
  using V = FourFloats;
  V line[4];
  for (int k = 0; k < 4; ++k) line[k] = *reinterpret_cast<const V*>(lines[k] + offset);
  const V firsts[] = {{line[0][0], line[1][0], line[0][1], line[1][1]},
                      {line[2][0], line[3][0], line[2][1], line[3][1]}};
  const V seconds[] = {{line[0][2], line[1][2], line[0][3], line[1][3]},
                       {line[2][2], line[3][2], line[2][3], line[3][3]}};
  for (const V* const pair : {firsts, seconds}) {
    items<V>(re) = V{pair[0][0], pair[0][1], pair[1][0], pair[1][1]};
    items<V>(im) = V{pair[0][2], pair[0][3], pair[1][2], pair[1][3]};
    re += step, im += step;
  }
}

// The first `n` complex numbers of each line to their places among the lanes: real parts stand
// `step` bytes apart, imaginary ones `gap` bytes behind them.
template <class T>
void read_pairs(char* const* from, int64_t step, int64_t gap, int64_t lanes, int64_t n,
                const Parts<T>& to) {
  int64_t first = 0;
  if constexpr (std::is_same_v<T, float>) {
    const bool packed = lanes == kLanes && gap == sizeof(T) && step == 2 * gap;
    for (; packed && first + 2 <= n; first += 2) {
      for (int64_t lane = 0; lane < kLanes; lane += 4) {
        const int64_t place = first * kLanes + lane;
        turn_pairs(from + lane, first * step, to.re + place, to.im + place, kLanes);
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

// One number of each of some lanes, of which those up to `count` are wanted, to its line. V is T,
// or several of them side by side.
template <class V, class T>
inline void write_numbers(char* const* to, int64_t offset, int64_t lane, int64_t count, const V& re,
                          const V& im, T scale) {
  constexpr int64_t kItems = kItemsOf<V, T>;
  T all_re[kItems], all_im[kItems];
  items<V>(all_re) = re * scale, items<V>(all_im) = im * scale;
  for (int64_t i = 0; i < std::min(kItems, count - lane); ++i) {
    auto* const number = reinterpret_cast<T*>(to[lane + i] + offset);
    number[0] = all_re[i], number[1] = all_im[i];
  }
}

template <class V, class T>
void write_rows(const Job& job, char* const* to, int64_t count, int64_t lanes, int64_t n,
                const Parts<T>& from) {
  const int64_t stride = line_stride(job.to, job.dim);
  const T scale = static_cast<T>(job.scale);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t l = 0; l < lanes; l += kItemsOf<V, T>) {
      const int64_t place = i * lanes + l;
      write_numbers<V, T>(to, i * stride, l, count, items<V>(from.re + place),
                          items<V>(from.im + place), scale);
    }
  }
}

template <class T>
void write_complex(const Job& job, char* const* to, int64_t count, int64_t lanes, int64_t n,
                   const Parts<T>& from) {
  in_lanes<T>(lanes,
              [&](auto item) { write_rows<ET_TYPE_OF(item)>(job, to, count, lanes, n, from); });
}

// The second half of a real signal's spectrum mirrors the first.
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

// A real signal of even length is taken as half as many complex numbers: even elements are their
// real parts, odd ones the imaginary. `w` holds e^(-2πi k/n).
template <class V, class T>
void write_split(const Job& job, char* const* to, int64_t count, const Parts<T>& z,
                 const Parts<T>& w, int64_t lanes) {
  const int64_t stride = line_stride(job.to, job.dim), half = job.n / 2;
  const T scale = static_cast<T>(job.scale);
  for (int64_t k = 0; k <= half; ++k) {
    const int64_t here = (k == half ? 0 : k) * lanes, there = (k == 0 ? 0 : half - k) * lanes;
    for (int64_t l = 0; l < lanes; l += kItemsOf<V, T>) {
      const V here_re = items<V>(z.re + here + l), there_re = items<V>(z.re + there + l);
      const V here_im = items<V>(z.im + here + l), there_im = items<V>(z.im + there + l);
      const V even_re = (here_re + there_re) * T(0.5), even_im = (here_im - there_im) * T(0.5);
      const V odd_re = (here_im + there_im) * T(0.5), odd_im = (there_re - here_re) * T(0.5);
      write_numbers<V, T>(to, k * stride, l, count, even_re + w.re[k] * odd_re - w.im[k] * odd_im,
                          even_im + w.re[k] * odd_im + w.im[k] * odd_re, scale);
    }
  }
}

// The inverse of write_split but for a factor of two, by which a sum over half as many elements
// is too small.
template <class V, class T>
void join_spectrum(const Parts<T>& x, const Parts<T>& w, int64_t half, int64_t lanes,
                   const Parts<T>& z) {
  for (int64_t k = 0; k < half; ++k) {
    const int64_t here = k * lanes, there = (half - k) * lanes;
    for (int64_t l = 0; l < lanes; l += kItemsOf<V, T>) {
      const V here_re = items<V>(x.re + here + l), there_re = items<V>(x.re + there + l);
      const V here_im = items<V>(x.im + here + l), there_im = items<V>(x.im + there + l);
      const V gap_re = here_re - there_re, gap_im = here_im + there_im;
      const V odd_re = gap_re * w.re[k] + gap_im * w.im[k];
      const V odd_im = gap_im * w.re[k] - gap_re * w.im[k];
      items<V>(z.re + here + l) = here_re + there_re - odd_im;
      items<V>(z.im + here + l) = here_im - there_im + odd_re;
    }
  }
}

// A transform between a real signal and its spectrum.
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
    const Parts<T> found = real.transform.run(true);
    if (real.folded) {
      in_lanes<T>(real.lanes, [&](auto item) {
        write_split<ET_TYPE_OF(item)>(job, to, count, found, real.w, real.lanes);
      });
    } else {
      write_complex(job, to, count, real.lanes, job.n / 2 + 1, found);
    }
    if (whole) write_mirrored<T>(job, to, count);
  });
  return true;
}

// The spectrum as the transform takes it. What a real signal cannot have, imaginary parts of the
// mean and of the highest frequency, is passed over.
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
    const int64_t step = real.folded ? 2 * stride : stride;
    for (int64_t lane = 0; lane < count; ++lane) {
      for (int64_t i = 0; i < real.transform.length(); ++i) {
        char* const at = to[lane] + i * step;
        *reinterpret_cast<T*>(at) = x.re[i * lanes + lane] * scale;
        if (real.folded) *reinterpret_cast<T*>(at + stride) = x.im[i * lanes + lane] * scale;
      }
    }
  });
  return true;
}

}  // namespace executorch::kernels::portable::fft
