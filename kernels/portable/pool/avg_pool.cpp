// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Means over fixed windows: floating dtypes and int64, as ATen; 16-bit floats are summed in
// float32.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pool/geometry.h>
#include <executorch/kernels/portable/spatial/window_rows.h>

namespace executorch::kernels::portable {
namespace {

struct Divisor {
  bool count_padding;
  int64_t fixed;  ///< 0: none
};

template <class T>
struct WindowMean {
  const WindowLoops& loops;
  const Plane& out;
  const Divisor& divisor;
  const Convert store_row = store(compute_type<T>, out.dtype);
  T sums[kBlock] = {};

  /// Elements of the window in one dimension that count.
  int64_t counted(int d, int64_t q) const {
    const WindowAxis& axis = loops.axis[d];
    const int64_t start = axis.input(q, 0);
    const int64_t end = std::min(start + axis.taps, axis.in - axis.origin);
    if (divisor.count_padding) return end - start;
    return std::max<int64_t>(std::min(end, axis.in) - std::max<int64_t>(start, 0), 1);
  }
  void begin(int64_t n) { std::fill_n(sums, n, T(0)); }
  void tap(const TapRow<T>& row) {
    T* to = sums + row.at;
    for (int64_t q = 0; q < row.n; ++q) to[q] += row.values[q * row.step];
  }
  void end(const int64_t* at, int64_t n) {
    const int64_t outer = divisor.fixed ? divisor.fixed : counted(0, at[0]) * counted(1, at[1]);
    for (int64_t q = 0; q < n; ++q) {
      sums[q] /= T(divisor.fixed ? outer : outer * counted(2, at[2] + q));
    }
    store_window_row(out, loops, store_row, at, sums, n);
  }
};

Tensor& avg_pool(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                 const PoolArguments& arguments, bool count_include_pad,
                 std::optional<int64_t> divisor_override, Tensor& out) {
  WindowLoops loops;
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, is_floating(dtype) || dtype == ScalarType::Long,
                 "average pooling takes floating point or int64, found %s", name_of(dtype)) ||
      !ET_EXPECT(ctx, !divisor_override || *divisor_override != 0, "divisor_override is 0") ||
      !expect_dtype(ctx, "out", out, dtype) || !pool_loops(ctx, self, spatial, arguments, &loops) ||
      !resize(ctx, out, pool_shape(self, spatial, loops))) {
    return out;
  }
  const Divisor divisor = {count_include_pad, divisor_override.value_or(0)};
  const Images from(self, spatial), to(out, spatial);
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    for (int64_t image = 0; image < from.batch; ++image) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const Plane result = to.plane(image, channel);
        WindowMean<T> work{loops, result, divisor};
        for_each_window_row<T>(from.plane(image, channel), loops, work);
      }
    }
  });
  return out;
}

constexpr int64_t kOne[] = {1};

}  // namespace

Tensor& avg_pool1d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, Tensor& out) {
  return avg_pool(ctx, self, 1, {kernel_size, stride, padding, {kOne, 1}, ceil_mode},
                  count_include_pad, std::nullopt, out);
}

Tensor& avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor_override,
                       Tensor& out) {
  return avg_pool(ctx, self, 2, {kernel_size, stride, padding, {kOne, 1}, ceil_mode},
                  count_include_pad, divisor_override, out);
}

Tensor& avg_pool3d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor_override,
                       Tensor& out) {
  return avg_pool(ctx, self, 3, {kernel_size, stride, padding, {kOne, 1}, ceil_mode},
                  count_include_pad, divisor_override, out);
}

}  // namespace executorch::kernels::portable
