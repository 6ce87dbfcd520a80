// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling with windows fitted to a given output size: maxima, with their flat indices in the plane,
// and means.
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/normalize/region.h>
#include <executorch/kernels/portable/pool/geometry.h>

namespace executorch::kernels::portable {
namespace {

/// Calls f(values, n, flat index of the first) for every run of a row in the window. Whole rows
/// that follow each other in memory are one row.
template <class T, class F>
void for_each_run(Reader<T>& reader, const Plane& image, const int64_t* sizes, const Window& w,
                  F&& f) {
  const int64_t width = sizes[2], step = image.strides[2];
  const bool is_joined = w.begin[2] == 0 && w.end[2] == width && image.strides[1] == width * step;
  const int64_t rows = is_joined ? 1 : w.end[1] - w.begin[1];
  const int64_t length = is_joined ? (w.end[1] - w.begin[1]) * width : w.end[2] - w.begin[2];
  for (int64_t z = w.begin[0]; z < w.end[0]; ++z) {
    for (int64_t y = w.begin[1]; y < w.begin[1] + rows; ++y) {
      const int64_t first = (z * sizes[1] + y) * width + w.begin[2];
      const char* const from =
          image.data + z * image.strides[0] + y * image.strides[1] + w.begin[2] * step;
      for (int64_t x = 0; x < length; x += kBlock) {
        const int64_t n = std::min(kBlock, length - x);
        f(reader(from + x * step, step, n), n, first + x);
      }
    }
  }
}

template <class T>
T mean_of(Reader<T>& reader, const Plane& image, const int64_t* sizes, const Window& window) {
  T total = 0;
  for_each_run(reader, image, sizes, window, [&](const T* values, int64_t n, int64_t) {
    total += sum_of<T>(n, [values](int64_t i) { return values[i]; });
  });
  return total / T(window.size());
}

template <class T>
T max_of(Reader<T>& reader, const Plane& image, const int64_t* sizes, const Window& window,
         int64_t* where) {
  T best = 0;
  *where = -1;
  for_each_run(reader, image, sizes, window, [&](const T* values, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      if (*where < 0 || values[i] > best || values[i] != values[i]) {
        best = values[i];
        *where = first + i;
      }
    }
  });
  return best;
}

/// Computes means, or maxima if `indices` is not null.
void adaptive_pool(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                   ArrayRef<int64_t> output_size, Tensor& out, Tensor* indices) {
  int64_t sizes[kSpatial];
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, is_floating(dtype), "adaptive pooling takes floating point, found %s",
                 name_of(dtype)) ||
      !expect_images(ctx, "self", self, spatial) || !expect_dtype(ctx, "out", out, dtype) ||
      !expect_spatial_list(ctx, "output_size", output_size, spatial, 0, 1, sizes) ||
      !resize(ctx, out, image_shape(self, spatial, sizes)) ||
      (indices && (!expect_dtype(ctx, "indices", *indices, ScalarType::Long) ||
                   !resize_like(ctx, *indices, out)))) {
    return;
  }
  const Images from(self, spatial), to(out, spatial), places(indices ? *indices : out, spatial);
  if (!from.expect_pixels(ctx, "self")) return;
  visit_floating(dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    const Division division(from.batch * from.channels, 1, self.numel());
    division.run([&](int64_t, int64_t begin, int64_t end) {
      Reader<T> reader(dtype);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t image = plane / from.channels, channel = plane % from.channels;
        const Plane in = from.plane(image, channel);
        const Plane result = to.plane(image, channel);
        const Plane place = places.plane(image, channel);
        for_each_fitted_window(from.sizes, to.sizes, [&](const Window& w, const int64_t* q) {
          int64_t where = 0;
          const T value = indices ? max_of(reader, in, from.sizes, w, &where)
                                  : mean_of(reader, in, from.sizes, w);
          write<T>(value, result.at(q), dtype);
          if (indices) *reinterpret_cast<int64_t*>(place.at(q)) = where;
        });
      }
    });
  });
}

}  // namespace

Tensor& adaptive_avg_pool1d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                ArrayRef<int64_t> output_size, Tensor& out) {
  adaptive_pool(ctx, self, 1, output_size, out, nullptr);
  return out;
}

Tensor& _adaptive_avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> output_size, Tensor& out) {
  adaptive_pool(ctx, self, 2, output_size, out, nullptr);
  return out;
}

Tensor& _adaptive_avg_pool3d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> output_size, Tensor& out) {
  adaptive_pool(ctx, self, 3, output_size, out, nullptr);
  return out;
}

std::tuple<Tensor&, Tensor&> adaptive_max_pool2d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                                     ArrayRef<int64_t> output_size, Tensor& out,
                                                     Tensor& indices) {
  adaptive_pool(ctx, self, 2, output_size, out, &indices);
  return {out, indices};
}

std::tuple<Tensor&, Tensor&> adaptive_max_pool3d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                                     ArrayRef<int64_t> output_size, Tensor& out,
                                                     Tensor& indices) {
  adaptive_pool(ctx, self, 3, output_size, out, &indices);
  return {out, indices};
}

}  // namespace executorch::kernels::portable
