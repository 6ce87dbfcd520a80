// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Resizing by linear interpolation in one to three dimensions. Floating dtypes and uint8, computed
// in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/resample/scale.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

/// The two neighbours of an output and their weights.
template <class T>
struct Neighbours {
  int64_t low, high;
  T low_weight, high_weight;

  Neighbours(const ResizeAxis& axis, bool align_corners, int64_t q) {
    const T ratio = T(axis.ratio);
    const T at = align_corners ? ratio * T(q) : std::max(ratio * (T(q) + T(0.5)) - T(0.5), T(0));
    low = std::min(int64_t(at), axis.in - 1);
    high = low + (low < axis.in - 1 ? 1 : 0);
    high_weight = std::clamp(at - T(low), T(0), T(1));
    low_weight = 1 - high_weight;
  }
};

/// sums += weight * the row resized
template <class T>
void add_row(const ResizeAxis& axis, bool align_corners, const char* from, int64_t stride,
             Convert load_one, T weight, int64_t first, int64_t n, T* sums) {
  for (int64_t q = 0; q < n; ++q) {
    const Neighbours<T> x(axis, align_corners, first + q);
    T low, high;
    load_one(reinterpret_cast<char*>(&low), 0, from + x.low * stride, 0, 1);
    load_one(reinterpret_cast<char*>(&high), 0, from + x.high * stride, 0, 1);
    sums[q] += weight * (x.low_weight * low + x.high_weight * high);
  }
}

template <class T>
void resize_plane(const ResizeAxis* axes, bool align_corners, const Plane& in, const Plane& out) {
  const Convert load_one = load(in.dtype, compute_type<T>);
  const Convert store_row = store(compute_type<T>, out.dtype);
  const bool rounds = in.dtype == ScalarType::Byte;
  T sums[kBlock];
  const auto add_plane = [&](const char* depth, T weight, int64_t y, int64_t first, int64_t n) {
    const Neighbours<T> rows(axes[1], align_corners, y);
    add_row(axes[2], align_corners, depth + rows.low * in.strides[1], in.strides[2], load_one,
            weight * rows.low_weight, first, n, sums);
    if (rows.high_weight != 0) {
      add_row(axes[2], align_corners, depth + rows.high * in.strides[1], in.strides[2], load_one,
              weight * rows.high_weight, first, n, sums);
    }
  };
  for (int64_t z = 0; z < axes[0].out; ++z) {
    const Neighbours<T> planes(axes[0], align_corners, z);
    for (int64_t y = 0; y < axes[1].out; ++y) {
      for (int64_t first = 0; first < axes[2].out; first += kBlock) {
        const int64_t n = std::min(kBlock, axes[2].out - first);
        std::fill_n(sums, n, T(0));
        add_plane(in.data + planes.low * in.strides[0], planes.low_weight, y, first, n);
        if (planes.high_weight != 0) {
          add_plane(in.data + planes.high * in.strides[0], planes.high_weight, y, first, n);
        }
        for (int64_t q = 0; rounds && q < n; ++q) sums[q] = std::nearbyint(sums[q]);
        store_row(out.data + z * out.strides[0] + y * out.strides[1] + first * out.strides[2],
                  out.strides[2], reinterpret_cast<const char*>(sums), sizeof(T), n);
      }
    }
  }
}

Tensor& linear(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
               const ResizeArguments& arguments, bool align_corners, Tensor& out) {
  ResizeAxis axes[kSpatial];
  if (!prepare_resize(ctx, self, spatial, arguments, align_corners, out, axes)) return out;
  const Images from(self, spatial), to(out, spatial);
  for (int64_t image = 0; image < from.batch; ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      const Plane in = from.plane(image, channel), result = to.plane(image, channel);
      if (in.dtype == ScalarType::Double) {
        resize_plane<double>(axes, align_corners, in, result);
      } else {
        resize_plane<float>(axes, align_corners, in, result);
      }
    }
  }
  return out;
}

using Factor = std::optional<double>;

}  // namespace

Tensor& upsample_linear1d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                              bool align_corners, Factor scales, Tensor& out) {
  return linear(ctx, self, 1, {size, {{}, {}, scales}}, align_corners, out);
}

Tensor& upsample_bilinear2d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                ArrayRef<int64_t> size, bool align_corners, Factor scales_h,
                                Factor scales_w, Tensor& out) {
  return linear(ctx, self, 2, {size, {{}, scales_h, scales_w}}, align_corners, out);
}

Tensor& upsample_trilinear3d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> size, bool align_corners, Factor scales_d,
                                 Factor scales_h, Factor scales_w, Tensor& out) {
  return linear(ctx, self, 3, {size, {scales_d, scales_h, scales_w}}, align_corners, out);
}

Tensor& upsample_bilinear2d_vec_out(KernelRuntimeContext& ctx, const Tensor& input,
                                    std::optional<ArrayRef<int64_t>> output_size,
                                    bool align_corners,
                                    std::optional<ArrayRef<double>> scale_factors, Tensor& out) {
  int64_t sizes[kSpatial];
  ResizeArguments arguments;
  if (!vec_arguments(ctx, input, 2, output_size, scale_factors, sizes, &arguments)) return out;
  return linear(ctx, input, 2, arguments, align_corners, out);
}

}  // namespace executorch::kernels::portable
