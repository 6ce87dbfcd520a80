// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Maxima over fixed windows, and where they were found: flat indices into the plane. Any dtype but
// bool; NaN wins over every number.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pool/geometry.h>
#include <executorch/kernels/portable/spatial/window_rows.h>

namespace executorch::kernels::portable {
namespace {

template <class T>
struct WindowMax {
  const WindowLoops& loops;
  const Plane& out;
  const Plane& indices;
  const Convert store_row = store(compute_type<T>, out.dtype);
  const Convert store_index = store(Compute::Int64, ScalarType::Long);
  T best[kBlock] = {};
  int64_t where[kBlock] = {};

  void begin(int64_t n) { std::fill_n(where, n, -1); }
  void tap(const TapRow<T>& row) {
    // Choices instead of branches: which value wins cannot be predicted.
    T* const values = best + row.at;
    int64_t* const places = where + row.at;
    for (int64_t q = 0; q < row.n; ++q) {
      const T value = row.values[q * row.step];
      const bool wins = (places[q] < 0) | (value > values[q]) | (value != value);
      values[q] = wins ? value : values[q];
      places[q] = wins ? row.input + q * row.input_step : places[q];
    }
  }
  void end(const int64_t* at, int64_t n) {
    store_window_row(out, loops, store_row, at, best, n);
    store_window_row(indices, loops, store_index, at, where, n);
  }
};

std::tuple<Tensor&, Tensor&> max_pool(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                                      const PoolArguments& arguments, Tensor& out,
                                      Tensor& indices) {
  std::tuple<Tensor&, Tensor&> result(out, indices);
  WindowLoops loops;
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, dtype != ScalarType::Bool && size_of(dtype) != 0,
                 "max pooling takes numbers, found %s", name_of(dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !expect_dtype(ctx, "indices", indices, ScalarType::Long) ||
      !pool_loops(ctx, self, spatial, arguments, &loops) ||
      !resize(ctx, out, pool_shape(self, spatial, loops)) ||
      !resize(ctx, indices, pool_shape(self, spatial, loops))) {
    return result;
  }
  const Images from(self, spatial), to(out, spatial), places(indices, spatial);
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    for (int64_t image = 0; image < from.batch; ++image) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const Plane best = to.plane(image, channel), where = places.plane(image, channel);
        WindowMax<T> work{loops, best, where};
        for_each_window_row<T>(from.plane(image, channel), loops, work);
      }
    }
  });
  return result;
}

}  // namespace

std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(
    KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
    ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
    Tensor& out, Tensor& indices) {
  return max_pool(ctx, self, 2, {kernel_size, stride, padding, dilation, ceil_mode}, out, indices);
}

std::tuple<Tensor&, Tensor&> max_pool3d_with_indices_out(
    KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
    ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
    Tensor& out, Tensor& indices) {
  return max_pool(ctx, self, 3, {kernel_size, stride, padding, dilation, ceil_mode}, out, indices);
}

}  // namespace executorch::kernels::portable
