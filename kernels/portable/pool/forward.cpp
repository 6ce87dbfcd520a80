// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling with windows of a given size: maxima (with where they were found, as flat indices into
// the plane; NaN wins over every number) and means. 16-bit floats are computed in float32.
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pool/max_pool.h>
#include <executorch/kernels/portable/spatial/window_rows.h>

#include <initializer_list>
#include <limits>

namespace executorch::kernels::portable {

bool pool_loops(KernelRuntimeContext& ctx, const Tensor& self, int spatial, const PoolArguments& a,
                WindowLoops* loops) {
  int64_t kernel[kSpatial], stride[kSpatial], padding[kSpatial], dilation[kSpatial];
  if (!expect_images(ctx, "self", self, spatial) ||
      !expect_spatial_list(ctx, "kernel_size", a.kernel, spatial, 1, 1, kernel) ||
      !expect_spatial_list(ctx, "stride", a.stride.empty() ? a.kernel : a.stride, spatial, 1, 1,
                           stride) ||
      !expect_spatial_list(ctx, "padding", a.padding, spatial, 0, 0, padding) ||
      !expect_spatial_list(ctx, "dilation", a.dilation, spatial, 1, 1, dilation)) {
    return false;
  }
  const Images images(self, spatial);
  for (int d = 0; d < kSpatial; ++d) {
    const int64_t in = images.sizes[d];
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    if (!ET_EXPECT(ctx, padding[d] * 2 <= reach,
                   "padding %" PRId64 " is above half of the kernel size %" PRId64, padding[d],
                   kernel[d])) {
      return false;
    }
    const int64_t room = in + 2 * padding[d] - reach + (a.ceil_mode ? stride[d] - 1 : 0);
    int64_t outputs = room < 0 ? 0 : room / stride[d] + 1;
    if (a.ceil_mode && (outputs - 1) * stride[d] >= in + padding[d]) --outputs;
    if (!ET_EXPECT(ctx, in > 0 && outputs > 0,
                   "a window of %" PRId64 " leaves no output for input of sizes %s", kernel[d],
                   ShapeText(self).text)) {
      return false;
    }
    loops->axis[d] = {in, outputs, 0, 1, kernel[d], 0, 1, -padding[d], stride[d], dilation[d]};
  }
  return ET_EXPECT(ctx, loops->fit(), "the window is too large");
}

Shape pool_shape(const Tensor& self, int spatial, const WindowLoops& loops) {
  const int64_t sizes[] = {loops.axis[0].outputs, loops.axis[1].outputs, loops.axis[2].outputs};
  return image_shape(self, spatial, sizes);
}

namespace {

/// The places of maxima are found as integers of T's width where these hold them all, for vectors.
template <class T, class Place>
struct WindowMax {
  static T initial() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  /// The index that ATen reports for a window that is entirely in the padding.
  int64_t first_place(const int64_t* at, int64_t column) const {
    int64_t place = 0;
    for (int d = 0; d < (loops.has_rows_of_channels ? 2 : kSpatial); ++d) {
      const WindowAxis& axis = loops.axis[d];
      const int64_t start = axis.input(d == 2 ? column : at[d], 0);
      const int64_t steps = start < 0 ? (axis.tap_shift - 1 - start) / axis.tap_shift : 0;
      place = place * axis.in + start + steps * axis.tap_shift;
    }
    return place;
  }

  const WindowLoops& loops;
  const Plane& out;
  const Plane& indices;
  const Convert store_row = store(compute_type<T>, out.dtype);
  const Convert store_index = store(Compute::Int64, ScalarType::Long);
  T best[kBlock] = {};
  Place where[kBlock] = {};

  void begin(int64_t n) {
    std::fill_n(best, n, initial());
    std::fill_n(where, n, Place(-1));
  }
  void tap(const TapRow<T>& row) {
    T* const values = best + row.at;
    Place* const places = where + row.at;
    const auto first = static_cast<Place>(row.input), step = static_cast<Place>(row.input_step);
    if (row.step == 1 && step == 0)
      return take_each(values, places, row.values, 1, row.n, first, 0);
    take_each(values, places, row.values, row.step, row.n, first, step);
  }
  static void take_each(T* values, Place* places, const T* from, int64_t from_step, int64_t n,
                        Place first, Place step) {
    // Choices instead of branches: which value wins cannot be predicted.
    for (int64_t q = 0; q < n; ++q) {
      const T value = from[q * from_step];
      const bool wins = (places[q] < 0) | (value > values[q]) | (value != value);
      values[q] = wins ? value : values[q];
      places[q] = wins ? static_cast<Place>(first + static_cast<Place>(q) * step) : places[q];
    }
  }
  void end(const int64_t* at, int64_t n) {
    int64_t places[kBlock];
    bool in_padding = false;
    for (int64_t q = 0; q < n; ++q) {
      in_padding |= where[q] < 0;
      places[q] = where[q];
    }
    for (int64_t q = 0; in_padding && q < n; ++q) {
      if (where[q] < 0) places[q] = first_place(at, at[2] + q);
    }
    store_window_row(out, loops, store_row, at, best, n);
    store_window_row(indices, loops, store_index, at, places, n);
  }
};

/// If channels are the innermost dimension of all images, pools runs of channels.
void arrange(WindowLoops& loops, std::initializer_list<Images*> all) {
  if (loops.axis[0].taps != 1) return;
  for (const Images* images : all) {
    if (!images->has_rows_of_channels()) return;
  }
  loops.take_channels_as_rows((*all.begin())->channels);
  for (Images* images : all) images->take_channels_as_rows();
}

/// Calls f(image, channel, first row, last row) for all rows of all planes, divided among threads.
template <class F>
void for_each_part(const Images& images, const WindowLoops& loops, F&& f) {
  const int64_t rows = loops.rows(), planes = images.batch * images.channels;
  const int64_t taps = std::min<int64_t>(loops.taps(), 64);  // more do not change the division
  const Division division(planes * rows, 1, planes * loops.outputs() * taps);
  division.run([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t at = begin, last; at < end; at += last - at % rows) {
      last = std::min(rows, at % rows + end - at);
      f(at / rows / images.channels, at / rows % images.channels, at % rows, last);
    }
  });
}

/// Computes the rows [begin, end) of a plane.
template <class T, class Work>
void pool_rows(const Plane& from, const WindowLoops& loops, int64_t begin, int64_t end,
               Work& work) {
  in_vectors([](const Plane* plane, const WindowLoops* windows, int64_t first, int64_t last,
                Work* pooling) { for_each_window_row<T>(*plane, *windows, first, last, *pooling); },
             &from, &loops, begin, end, &work);
}

template <class T, class Place>
void find_maxima(const Images& from, const Images& to, const Images& places,
                 const WindowLoops& loops) {
  for_each_part(from, loops, [&](int64_t image, int64_t channel, int64_t begin, int64_t end) {
    const Plane best = to.plane(image, channel), where = places.plane(image, channel);
    WindowMax<T, Place> work{loops, best, where};
    pool_rows<T>(from.plane(image, channel), loops, begin, end, work);
  });
}

}  // namespace

std::tuple<Tensor&, Tensor&> max_pool(KernelRuntimeContext& ctx, FloatMaxPooling fast,
                                      const Tensor& self, int spatial,
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
  Images from(self, spatial), to(out, spatial), places(indices, spatial);
  const bool is_small = self.numel() < INT32_MAX;
  if (fast != nullptr && dtype == ScalarType::Float && fast({from, to, places, loops})) {
    return result;
  }
  arrange(loops, {&from, &to, &places});
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (sizeof(T) == sizeof(int32_t)) {
      if (is_small) return find_maxima<T, int32_t>(from, to, places, loops);
    }
    find_maxima<T, int64_t>(from, to, places, loops);
  });
  return result;
}

namespace {

template <class T>
struct WindowMean {
  const WindowLoops& loops;
  const Plane& out;
  const Divisor& divisor;
  const Convert store_row = store(compute_type<T>, out.dtype);
  T sums[kBlock] = {};

  void begin(int64_t n) { std::fill_n(sums, n, T(0)); }
  void tap(const TapRow<T>& row) {
    T* to = sums + row.at;
    for (int64_t q = 0; q < row.n; ++q) to[q] = sum(to[q], row.values[q * row.step]);
  }
  void end(const int64_t* at, int64_t n) {
    const int64_t outer = divisor.outer(loops, at);
    for (int64_t q = 0; q < n; ++q) sums[q] = mean(sums[q], divisor.of(loops, outer, at[2] + q));
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
  Images from(self, spatial), to(out, spatial);
  arrange(loops, {&from, &to});
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    for_each_part(from, loops, [&](int64_t image, int64_t channel, int64_t begin, int64_t end) {
      const Plane result = to.plane(image, channel);
      WindowMean<T> work{loops, result, divisor};
      pool_rows<T>(from.plane(image, channel), loops, begin, end, work);
    });
  });
  return out;
}

}  // namespace

std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(
    KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
    ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
    Tensor& out, Tensor& indices) {
  return max_pool(ctx, nullptr, self, 2, {kernel_size, stride, padding, dilation, ceil_mode}, out,
                  indices);
}

std::tuple<Tensor&, Tensor&> max_pool3d_with_indices_out(
    KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
    ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
    Tensor& out, Tensor& indices) {
  return max_pool(ctx, nullptr, self, 3, {kernel_size, stride, padding, dilation, ceil_mode}, out,
                  indices);
}

Tensor& avg_pool1d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, Tensor& out) {
  return avg_pool(ctx, self, 1, {kernel_size, stride, padding, {kUndilated, 1}, ceil_mode},
                  count_include_pad, std::nullopt, out);
}

Tensor& avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor_override,
                       Tensor& out) {
  return avg_pool(ctx, self, 2, {kernel_size, stride, padding, {kUndilated, 1}, ceil_mode},
                  count_include_pad, divisor_override, out);
}

Tensor& avg_pool3d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                       ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor_override,
                       Tensor& out) {
  return avg_pool(ctx, self, 3, {kernel_size, stride, padding, {kUndilated, 1}, ceil_mode},
                  count_include_pad, divisor_override, out);
}

}  // namespace executorch::kernels::portable
