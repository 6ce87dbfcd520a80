// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The windows of pooling: of a fixed size, or fitted to a given output size.
#pragma once

#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>
#include <type_traits>

namespace executorch::kernels::portable {

/// Arguments of pooling operators with a fixed window; an empty stride means the kernel size.
struct PoolArguments {
  ArrayRef<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode;
};

/// The dilation of average pooling.
inline constexpr int64_t kUndilated[] = {1};

/// Checks the arguments and fills `loops`; else fails the context. With `ceil_mode` a last window
/// may hang over the end, if it starts inside of input or left padding.
bool pool_loops(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                const PoolArguments& arguments, WindowLoops* loops);

/// The shape of the result.
Shape pool_shape(const Tensor& self, int spatial, const WindowLoops& loops);

/// Sums and quotients that are defined for every value: int64 wraps.
template <class T>
T sum(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return T(uint64_t(x) + uint64_t(y));
  } else {
    return x + y;
  }
}
template <class T>
T mean(T sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return count == -1 ? T(0 - uint64_t(sum)) : sum / count;
  } else {
    return sum / T(count);
  }
}

/// Divisor of a window's sum, for its mean.
struct Divisor {
  bool count_padding;
  int64_t fixed;  ///< 0: none

  /// Elements of the window in one dimension that count.
  int64_t counted(const WindowAxis& axis, int64_t q) const {
    const int64_t start = axis.input(q, 0);
    const int64_t end = std::min(start + axis.taps, axis.in - axis.origin);
    if (count_padding) return end - start;
    return std::max<int64_t>(std::min(end, axis.in) - std::max<int64_t>(start, 0), 1);
  }
  /// For the outputs of a row with these outer indices: the factor of counted() of the last
  /// dimension, or the fixed divisor.
  int64_t outer(const WindowLoops& loops, const int64_t* at) const {
    return fixed ? fixed : counted(loops.axis[0], at[0]) * counted(loops.axis[1], at[1]);
  }
  int64_t of(const WindowLoops& loops, int64_t outer, int64_t q) const {
    return fixed ? outer : outer * counted(loops.axis[2], q);
  }
};

/// A window in the image.
struct Window {
  int64_t begin[kSpatial], end[kSpatial];

  int64_t size() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
  /// Window q of `out` in one dimension of `in`.
  void fit(int d, int64_t q, int64_t in, int64_t out) {
    begin[d] = q * in / out;
    end[d] = ((q + 1) * in + out - 1) / out;
  }
};

/// Calls f(window, output index) for every window fitted to `out` in `in` (spatial sizes).
template <class F>
void for_each_fitted_window(const int64_t* in, const int64_t* out, F&& f) {
  Window w;
  int64_t q[kSpatial];
  for (q[0] = 0; q[0] < out[0]; ++q[0]) {
    w.fit(0, q[0], in[0], out[0]);
    for (q[1] = 0; q[1] < out[1]; ++q[1]) {
      w.fit(1, q[1], in[1], out[1]);
      for (q[2] = 0; q[2] < out[2]; ++q[2]) {
        w.fit(2, q[2], in[2], out[2]);
        f(w, static_cast<const int64_t*>(q));
      }
    }
  }
}

}  // namespace executorch::kernels::portable
