// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Resizing by repeating or leaving out pixels. Floating dtypes and uint8, as ATen.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/resample/scale.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

enum class Nearest { Floor, Center };

/// ATen computes the coordinate in float32, and so its rounding is part of the operator.
int64_t source(const ResizeAxis& axis, Nearest mode, int64_t q) {
  const float ratio = float(axis.ratio);
  if (mode == Nearest::Floor && axis.in == axis.out && ratio == 1.0f) return q;
  const float at = mode == Nearest::Floor ? float(q) * ratio : (float(q) + 0.5f) * ratio;
  return std::min(int64_t(std::floor(at)), axis.in - 1);
}

template <class T>
void resize_row(const ResizeAxis& axis, Nearest mode, const char* from, int64_t from_stride,
                char* to, int64_t to_stride) {
  for (int64_t q = 0; q < axis.out; ++q) {
    *reinterpret_cast<T*>(to + q * to_stride) =
        *reinterpret_cast<const T*>(from + source(axis, mode, q) * from_stride);
  }
}

Tensor& nearest(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                const ResizeArguments& arguments, Nearest mode, Tensor& out) {
  ResizeAxis axes[kSpatial];
  if (!prepare_resize(ctx, self, spatial, arguments, false, out, axes)) return out;
  const Images from(self, spatial), to(out, spatial);
  visit_width(size_of(self.scalar_type()), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    for (int64_t image = 0; image < from.batch; ++image) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const Plane in = from.plane(image, channel), result = to.plane(image, channel);
        for (int64_t z = 0; z < axes[0].out; ++z) {
          const char* const depth = in.data + source(axes[0], mode, z) * in.strides[0];
          for (int64_t y = 0; y < axes[1].out; ++y) {
            resize_row<T>(
                axes[2], mode, depth + source(axes[1], mode, y) * in.strides[1], in.strides[2],
                result.data + z * result.strides[0] + y * result.strides[1], result.strides[2]);
          }
        }
      }
    }
  });
  return out;
}

using Factor = std::optional<double>;

}  // namespace

#define ET_NEAREST(name, mode)                                                                 \
  Tensor& name##1d_out(KernelRuntimeContext & ctx, const Tensor& self, ArrayRef<int64_t> size, \
                       Factor scales, Tensor& out) {                                           \
    return nearest(ctx, self, 1, {size, {{}, {}, scales}}, Nearest::mode, out);                \
  }                                                                                            \
  Tensor& name##2d_out(KernelRuntimeContext & ctx, const Tensor& self, ArrayRef<int64_t> size, \
                       Factor scales_h, Factor scales_w, Tensor& out) {                        \
    return nearest(ctx, self, 2, {size, {{}, scales_h, scales_w}}, Nearest::mode, out);        \
  }                                                                                            \
  Tensor& name##3d_out(KernelRuntimeContext & ctx, const Tensor& self, ArrayRef<int64_t> size, \
                       Factor scales_d, Factor scales_h, Factor scales_w, Tensor& out) {       \
    return nearest(ctx, self, 3, {size, {scales_d, scales_h, scales_w}}, Nearest::mode, out);  \
  }
ET_NEAREST(upsample_nearest, Floor)
ET_NEAREST(_upsample_nearest_exact, Center)
#undef ET_NEAREST

Tensor& upsample_nearest2d_vec_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   const std::optional<ArrayRef<int64_t>> output_size,
                                   const std::optional<ArrayRef<double>> scale_factors,
                                   Tensor& out) {
  int64_t sizes[kSpatial];
  ResizeArguments arguments;
  if (!vec_arguments(ctx, input, 2, output_size, scale_factors, sizes, &arguments)) return out;
  return nearest(ctx, input, 2, arguments, Nearest::Floor, out);
}

}  // namespace executorch::kernels::portable
