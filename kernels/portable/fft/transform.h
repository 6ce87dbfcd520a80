// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The discrete Fourier transform of any length, for several lines (lanes) at a time.
//
// Lengths of the prime factors 2, 3, 5 and 7 go through Stockham's passes: each reads one buffer
// and writes the other, and leaves everything in order, so that no reversal of indices is needed.
// Other lengths go through Bluestein's chirp transform, a convolution by two transforms whose
// length has such factors. (Van Loan, Computational Frameworks for the Fast Fourier Transform,
// 1992: 1.7 and 4.2.)
//
// Real and imaginary parts are separate arrays, with element i of lane l at [i * lanes + l], so
// that all inner loops are contiguous.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/check.h>

#include <cmath>
#include <cstring>

namespace executorch::kernels::portable::fft {

inline constexpr double kTwoPi = 6.283185307179586476925286766559;

template <class T>
struct Parts {
  T* re;
  T* im;

  Parts swapped() const { return {im, re}; }
  /// Those from element i on.
  Parts from(int64_t i) const { return {re + i, im + i}; }
};

template <class T>
bool allocate_parts(KernelRuntimeContext& ctx, int64_t n, Parts<T>* parts) {
  parts->re = allocate<T>(ctx, 2 * n);
  parts->im = parts->re + n;
  return parts->re != nullptr;
}

/// The roots e^(-2πi k/n). About 2√n of them are computed; the others are products of two of these.
class UnitRoots {
 public:
  bool prepare(KernelRuntimeContext& ctx, int64_t n) {
    for (fine_ = 1; fine_ * fine_ < n;) fine_ *= 2;
    const int64_t count = n / fine_ + 1;
    if (!allocate_parts(ctx, fine_ + count, &values_)) return false;
    for (int64_t k = 0; k < fine_ + count; ++k) {
      const double turns = static_cast<double>(k < fine_ ? k : (k - fine_) * fine_) / double(n);
      values_.re[k] = std::cos(kTwoPi * turns), values_.im[k] = -std::sin(kTwoPi * turns);
    }
    return true;
  }
  /// 0 ≤ k ≤ n
  void get(int64_t k, double* re, double* im) const {
    const int64_t low = k & (fine_ - 1), high = fine_ + k / fine_;
    *re = values_.re[high] * values_.re[low] - values_.im[high] * values_.im[low];
    *im = values_.re[high] * values_.im[low] + values_.im[high] * values_.re[low];
  }

 private:
  int64_t fine_ = 1;
  Parts<double> values_;
};

/// e^(-2πi k/n) for k < count ≤ n + 1, in temporary memory.
template <class T>
bool unit_roots(KernelRuntimeContext& ctx, int64_t n, int64_t count, Parts<T>* w) {
  UnitRoots roots;
  if (!allocate_parts(ctx, count, w) || !roots.prepare(ctx, n)) return false;
  for (int64_t k = 0; k < count; ++k) {
    double re, im;
    roots.get(k, &re, &im);
    w->re[k] = static_cast<T>(re), w->im[k] = static_cast<T>(im);
  }
  return true;
}

/// cos and sin of 2πk/radix.
template <int radix>
struct Circle;
template <>
struct Circle<3> {
  static constexpr double cosine[] = {1, -0.5, -0.5};
  static constexpr double sine[] = {0, 0.86602540378443864676, -0.86602540378443864676};
};
template <>
struct Circle<5> {
  static constexpr double cosine[] = {1, 0.30901699437494742410, -0.80901699437494742410,
                                      -0.80901699437494742410, 0.30901699437494742410};
  static constexpr double sine[] = {0, 0.95105651629515357212, 0.58778525229247312917,
                                    -0.58778525229247312917, -0.95105651629515357212};
};
template <>
struct Circle<7> {
  static constexpr double cosine[] = {1,
                                      0.62348980185873353053,
                                      -0.22252093395631440429,
                                      -0.90096886790241912624,
                                      -0.90096886790241912624,
                                      -0.22252093395631440429,
                                      0.62348980185873353053};
  static constexpr double sine[] = {0,
                                    0.78183148246802980871,
                                    0.97492791218182360702,
                                    0.43388373911755812048,
                                    -0.43388373911755812048,
                                    -0.97492791218182360702,
                                    -0.78183148246802980871};
};

/// Transforms `radix` numbers in place. V is T or a vector of T.
template <int radix, class T, class V>
inline void butterfly(V* re, V* im) {
  if constexpr (radix == 2) {
    const V r = re[1], i = im[1];
    re[1] = re[0] - r, im[1] = im[0] - i;
    re[0] += r, im[0] += i;
  } else if constexpr (radix == 4) {
    const V r0 = re[0] + re[2], r1 = re[0] - re[2], r2 = re[1] + re[3], r3 = re[1] - re[3];
    const V i0 = im[0] + im[2], i1 = im[0] - im[2], i2 = im[1] + im[3], i3 = im[1] - im[3];
    re[0] = r0 + r2, re[1] = r1 + i3, re[2] = r0 - r2, re[3] = r1 - i3;
    im[0] = i0 + i2, im[1] = i1 - r3, im[2] = i0 - i2, im[3] = i1 + r3;
  } else {
    constexpr int half = radix / 2;
    V sum_re[half], sum_im[half], gap_re[half], gap_im[half];
    const V first_re = re[0], first_im = im[0];
    for (int k = 0; k < half; ++k) {
      sum_re[k] = re[k + 1] + re[radix - 1 - k], gap_re[k] = re[k + 1] - re[radix - 1 - k];
      sum_im[k] = im[k + 1] + im[radix - 1 - k], gap_im[k] = im[k + 1] - im[radix - 1 - k];
      re[0] += sum_re[k], im[0] += sum_im[k];
    }
    for (int j = 1; j <= half; ++j) {
      V even_re = first_re, even_im = first_im, odd_re = {}, odd_im = {};
      for (int k = 0; k < half; ++k) {
        const T c = static_cast<T>(Circle<radix>::cosine[j * (k + 1) % radix]);
        const T s = static_cast<T>(Circle<radix>::sine[j * (k + 1) % radix]);
        even_re += c * sum_re[k], even_im += c * sum_im[k];
        odd_re += s * gap_re[k], odd_im += s * gap_im[k];
      }
      re[j] = even_re + odd_im, im[j] = even_im - odd_re;
      re[radix - j] = even_re - odd_im, im[radix - j] = even_im + odd_re;
    }
  }
}

template <class T>
struct Vector {
#if ET_WIDE_VECTORS
  static constexpr int64_t kBytes = 32;
#else
  static constexpr int64_t kBytes = 16;
#endif
  static constexpr int64_t kItems = kBytes / int64_t(sizeof(T));
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

template <class V, class T>
inline constexpr int64_t kItemsOf = int64_t(sizeof(V) / sizeof(T));
/// The items of a V from there on.
template <class V, class T>
inline V& items(T* memory) {
  return *reinterpret_cast<V*>(memory);
}
/// Calls f(tag) with the type (ET_TYPE_OF) that holds `width` adjacent items.
template <class T, class F>
void in_lanes([[maybe_unused]] int64_t width, F&& f) {
#if ET_HAS_VECTORS
  if (width % Vector<T>::kItems == 0) return in_vectors(f, Vector<T>());
#endif
  f(Type<T>());
}

/// Transforms `radix` runs of `width` elements, `gap` apart in x, to consecutive runs of y. With
/// `turned`, multiplies all runs but the first by w.
template <int radix, bool turned, class T, class V>
inline void pass_run(const Parts<T>& x, const Parts<T>& y, const T* w_re, const T* w_im,
                     int64_t gap, int64_t width) {
  for (int64_t q = 0; q < width; q += kItemsOf<V, T>) {
    V re[radix], im[radix];
    for (int k = 0; k < radix; ++k) {
      re[k] = items<V>(x.re + k * gap + q), im[k] = items<V>(x.im + k * gap + q);
    }
    butterfly<radix, T>(re, im);
    items<V>(y.re + q) = re[0], items<V>(y.im + q) = im[0];
    for (int j = 1; j < radix; ++j) {
      const int64_t to = j * width + q;
      if constexpr (turned) {
        items<V>(y.re + to) = re[j] * w_re[j] - im[j] * w_im[j];
        items<V>(y.im + to) = re[j] * w_im[j] + im[j] * w_re[j];
      } else {
        items<V>(y.re + to) = re[j], items<V>(y.im + to) = im[j];
      }
    }
  }
}

/// One of Stockham's passes: `groups` times `radix` runs, each of `width` elements; `stride` is the
/// product of the radices before.
template <int radix, class T, class V>
void pass(const Parts<T>& x, const Parts<T>& y, const Parts<T>& w, int64_t groups, int64_t stride,
          int64_t width) {
  pass_run<radix, false, T, V>(x, y, nullptr, nullptr, groups * width, width);
  for (int64_t p = 1; p < groups; ++p) {
    T w_re[radix], w_im[radix];
    for (int j = 1; j < radix; ++j) {
      w_re[j] = w.re[p * j * stride], w_im[j] = w.im[p * j * stride];
    }
    pass_run<radix, true, T, V>(x.from(p * width), y.from(radix * p * width), w_re, w_im,
                                groups * width, width);
  }
}

template <int radix, class T>
void pass_for(const Parts<T>& x, const Parts<T>& y, const Parts<T>& w, int64_t groups,
              int64_t stride, int64_t width) {
  in_lanes<T>(width,
              [&](auto item) { pass<radix, T, ET_TYPE_OF(item)>(x, y, w, groups, stride, width); });
}

/// Transforms of one length n, which is a product of 2, 3, 5 and 7.
template <class T>
class Passes {
 public:
  static bool serves(int64_t n) {
    for (const int radix : {2, 3, 5, 7}) {
      while (n % radix == 0) n /= radix;
    }
    return n == 1;
  }

  bool prepare(KernelRuntimeContext& ctx, int64_t n) {
    n_ = n;
    return unit_roots(ctx, n, n, &w_);
  }

  int64_t length() const { return n_; }

  /// Transforms x, with y as the second buffer; returns the buffer that has the result.
  Parts<T> run(Parts<T> x, Parts<T> y, int64_t lanes) const {
    int64_t rest = n_, stride = 1;
    while (rest > 1) {
      const int radix = rest % 4 == 0   ? 4
                        : rest % 2 == 0 ? 2
                        : rest % 3 == 0 ? 3
                        : rest % 5 == 0 ? 5
                                        : 7;
      rest /= radix;
      const auto step = radix == 4   ? pass_for<4, T>
                        : radix == 2 ? pass_for<2, T>
                        : radix == 3 ? pass_for<3, T>
                        : radix == 5 ? pass_for<5, T>
                                     : pass_for<7, T>;
      step(x, y, w_, rest, stride, stride * lanes);
      stride *= radix;
      std::swap(x, y);
    }
    return x;
  }

 private:
  int64_t n_ = 1;
  Parts<T> w_;
};

/// Transforms of any length n ≥ 1. Its memory is the context's temporary memory.
template <class T>
class Transform {
 public:
  bool prepare(KernelRuntimeContext& ctx, int64_t n, int64_t lanes) {
    n_ = n, lanes_ = lanes;
    chirped_ = !Passes<T>::serves(n);
    int64_t m = n;
    if (chirped_) {
      // Multiples of 16, for the sake of long runs.
      for (m = (2 * n + 15) / 16 * 16; !Passes<T>::serves(m);) m += 16;
    }
    // One element more than the passes need, because half a spectrum has n/2 + 1 elements.
    const int64_t room = (m + 1) * lanes;
    if (!passes_.prepare(ctx, m) || !allocate_parts(ctx, room, &input_) ||
        !allocate_parts(ctx, room, &other_)) {
      return false;
    }
    std::memset(input_.re, 0, sizeof(T) * static_cast<size_t>(2 * room));
    return !chirped_ || prepare_chirp(ctx, m);
  }

  int64_t length() const { return n_; }
  int64_t lanes() const { return lanes_; }
  /// Input for the n elements of each lane, and a buffer of n + 1 elements that is free before
  /// run().
  const Parts<T>& input() const { return input_; }
  const Parts<T>& spare() const { return other_; }

  /// The sums of x[j] e^(∓2πi jk/n). `forward` takes the minus.
  Parts<T> run(bool forward) const {
    // With the parts exchanged before and after, the same passes compute the inverse.
    const Parts<T> x = forward ? input_ : input_.swapped();
    const Parts<T> y = forward ? other_ : other_.swapped();
    const Parts<T> transformed = chirped_ ? run_chirped(x, y) : passes_.run(x, y, lanes_);
    return forward ? transformed : transformed.swapped();
  }

 private:
  bool prepare_chirp(KernelRuntimeContext& ctx, int64_t m) {
    Parts<T> line, work;
    if (!allocate_parts(ctx, n_, &chirp_) || !allocate_parts(ctx, m, &line) ||
        !allocate_parts(ctx, m, &work)) {
      return false;
    }
    std::memset(line.re, 0, sizeof(T) * static_cast<size_t>(2 * m));
    UnitRoots roots;
    if (!roots.prepare(ctx, 2 * n_)) return false;
    const double scale = 1.0 / static_cast<double>(m);
    for (int64_t k = 0; k < n_; ++k) {
      double re, im;
      roots.get(k * k % (2 * n_), &re, &im);
      chirp_.re[k] = static_cast<T>(re), chirp_.im[k] = static_cast<T>(im);
      const int64_t back = k == 0 ? 0 : m - k;
      line.re[k] = line.re[back] = static_cast<T>(re * scale);
      line.im[k] = line.im[back] = static_cast<T>(-im * scale);
    }
    spectrum_ = passes_.run(line, work, 1);
    return true;
  }

  // to = from * factor, element by element; `factor` is one for all lanes.
  void multiply(const Parts<T>& to, const Parts<T>& from, const Parts<T>& factor, int64_t n) const {
    for (int64_t k = 0; k < n; ++k) {
      const T c = factor.re[k], s = factor.im[k];
      for (int64_t i = k * lanes_; i < (k + 1) * lanes_; ++i) {
        const T re = from.re[i], im = from.im[i];
        to.re[i] = re * c - im * s;
        to.im[i] = re * s + im * c;
      }
    }
  }

  Parts<T> run_chirped(const Parts<T>& x, const Parts<T>& y) const {
    const int64_t m = passes_.length();
    multiply(x, x, chirp_, n_);
    const size_t padding = sizeof(T) * static_cast<size_t>((m - n_) * lanes_);
    std::memset(x.re + n_ * lanes_, 0, padding);
    std::memset(x.im + n_ * lanes_, 0, padding);
    const Parts<T> there = passes_.run(x, y, lanes_);
    multiply(there, there, spectrum_, m);
    const Parts<T> spare = there.re == x.re ? y : x;
    const Parts<T> back = passes_.run(there.swapped(), spare.swapped(), lanes_).swapped();
    multiply(back, back, chirp_, n_);
    return back;
  }

  int64_t n_ = 1, lanes_ = 1;
  bool chirped_ = false;
  Passes<T> passes_;
  Parts<T> input_, other_, chirp_, spectrum_;
};

}  // namespace executorch::kernels::portable::fft
