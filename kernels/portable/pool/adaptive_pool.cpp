// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling to a given output size: window q of a dimension is [floor(q * in / out), ceil((q + 1) *
// in / out)). Floating dtypes, computed in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

struct Window {
  int64_t begin[kSpatial], end[kSpatial];

  int64_t size() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};

/// Calls f(values, n, flat index of the first) for every run of a row in the window.
template <class T, class F>
void for_each_run(Reader<T>& reader, const Plane& image, const int64_t* sizes, const Window& w,
                  F&& f) {
  for (int64_t z = w.begin[0]; z < w.end[0]; ++z) {
    for (int64_t y = w.begin[1]; y < w.end[1]; ++y) {
      for (int64_t x = w.begin[2]; x < w.end[2]; x += kBlock) {
        const char* from =
            image.data + z * image.strides[0] + y * image.strides[1] + x * image.strides[2];
        const int64_t n = std::min(kBlock, w.end[2] - x);
        f(reader(from, image.strides[2], n), n, (z * sizes[1] + y) * sizes[2] + x);
      }
    }
  }
}

template <class T>
T mean_of(Reader<T>& reader, const Plane& image, const int64_t* sizes, const Window& window) {
  T sum = 0;
  for_each_run(reader, image, sizes, window, [&](const T* values, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; ++i) sum += values[i];
  });
  return sum / T(window.size());
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

/// Calls f(window, offsets of the output element in `a` and `b`) for every output of a plane.
template <class F>
void for_each_window(const Images& in, const Images& a, const Images& b, F&& f) {
  const auto edge = [&](int d, int64_t q, int64_t* begin, int64_t* end) {
    *begin = q * in.sizes[d] / a.sizes[d];
    *end = ((q + 1) * in.sizes[d] + a.sizes[d] - 1) / a.sizes[d];
  };
  Window w;
  int64_t q[kSpatial];
  for (q[0] = 0; q[0] < a.sizes[0]; ++q[0]) {
    edge(0, q[0], &w.begin[0], &w.end[0]);
    for (q[1] = 0; q[1] < a.sizes[1]; ++q[1]) {
      edge(1, q[1], &w.begin[1], &w.end[1]);
      for (q[2] = 0; q[2] < a.sizes[2]; ++q[2]) {
        edge(2, q[2], &w.begin[2], &w.end[2]);
        int64_t at[2] = {0, 0};
        for (int d = 0; d < kSpatial; ++d) {
          at[0] += q[d] * a.first.strides[d];
          at[1] += q[d] * b.first.strides[d];
        }
        f(w, at[0], at[1]);
      }
    }
  }
}

/// Means, or maxima where `indices` is not null.
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
  const bool empty = from.sizes[0] * from.sizes[1] * from.sizes[2] == 0;
  if (!ET_EXPECT(ctx, !empty, "self has an empty spatial dimension: %s", ShapeText(self).text))
    return;
  visit_compute(compute_of(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Reader<T> reader(dtype);
    for (int64_t image = 0; image < from.batch; ++image) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const Plane in = from.plane(image, channel);
        char* const result = to.plane(image, channel).data;
        char* const place = places.plane(image, channel).data;
        for_each_window(from, to, places, [&](const Window& w, int64_t at, int64_t place_at) {
          int64_t where = 0;
          const T value = indices ? max_of(reader, in, from.sizes, w, &where)
                                  : mean_of(reader, in, from.sizes, w);
          write<T>(value, result + at, dtype);
          if (indices) *reinterpret_cast<int64_t*>(place + place_at) = where;
        });
      }
    }
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
