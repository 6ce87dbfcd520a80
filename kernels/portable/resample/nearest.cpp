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

/// One channel. The sources of a run of columns are found once for all rows.
template <class T>
void resize_plane(const ResizeAxis* axes, Nearest mode, const Plane& in, const Plane& out) {
  int64_t columns[kBlock];
  for (int64_t first = 0; first < axes[2].out; first += kBlock) {
    const int64_t n = std::min(kBlock, axes[2].out - first);
    for (int64_t q = 0; q < n; ++q) columns[q] = source(axes[2], mode, first + q) * in.strides[2];
    for (int64_t z = 0; z < axes[0].out; ++z) {
      const char* const depth = in.data + source(axes[0], mode, z) * in.strides[0];
      for (int64_t y = 0; y < axes[1].out; ++y) {
        const char* const from = depth + source(axes[1], mode, y) * in.strides[1];
        char* const to =
            out.data + z * out.strides[0] + y * out.strides[1] + first * out.strides[2];
        for (int64_t q = 0; q < n; ++q) {
          *reinterpret_cast<T*>(to + q * out.strides[2]) =
              *reinterpret_cast<const T*>(from + columns[q]);
        }
      }
    }
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
        resize_plane<T>(axes, mode, from.plane(image, channel), to.plane(image, channel));
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
