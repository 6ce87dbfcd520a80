// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Images read between their pixels: resized to the nearest ones, or by linear or cubic
// interpolation in one to three dimensions, with or without antialiasing; and sampled at given
// points. Floating dtypes and, for resizing, uint8, as ATen; weights are float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/resample/grid_sampler.h>
#include <executorch/kernels/portable/resample/plane_resizer.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace executorch::kernels::portable {
namespace {

using Factor = std::optional<double>;

/// The result's size, as ATen passes it: spatial sizes, factors, or both.
struct ResizeArguments {
  std::optional<ArrayRef<int64_t>> output_size;  ///< spatial sizes
  /// One factor for each spatial dimension, if given. The .vec overloads compute the sizes from
  /// them; others have both.
  Factor scales[kSpatial];
};

/// The factors of a `.vec` overload and the sizes they mean: exactly one of the two lists is given.
bool vec_arguments(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                   const std::optional<ArrayRef<int64_t>>& output_size,
                   const std::optional<ArrayRef<double>>& scale_factors, int64_t* sizes,
                   ResizeArguments* arguments) {
  if (!ET_EXPECT(ctx, output_size.has_value() != scale_factors.has_value(),
                 "exactly one of output_size and scale_factors must be given")) {
    return false;
  }
  if (output_size) {
    arguments->output_size = *output_size;
    return true;
  }
  if (!expect_images(ctx, "self", self, spatial) ||
      !ET_EXPECT(ctx, int64_t(scale_factors->size()) == spatial,
                 "scale_factors must have %d values, found %zu", spatial, scale_factors->size())) {
    return false;
  }
  for (int d = 0; d < spatial; ++d) {
    const double factor = (*scale_factors)[d];
    const double size = double(self.size(self.dim() - spatial + d)) * factor;
    if (!ET_EXPECT(ctx, size >= 1 && size < 2147483648.0, "scale factor %g does not fit sizes %s",
                   factor, ShapeText(self).text)) {
      return false;
    }
    sizes[d] = int64_t(size);
    arguments->scales[kSpatial - spatial + d] = factor;
  }
  arguments->output_size = ArrayRef<int64_t>(sizes, size_t(spatial));
  return true;
}

/// Checks dtype, rank and sizes, resizes `out` and fills three axes; else fails the context.
bool prepare_resize(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                    const ResizeArguments& arguments, bool align_corners, Tensor& out,
                    ResizeAxis* axes) {
  const ScalarType dtype = self.scalar_type();
  int64_t sizes[kSpatial];
  if (!ET_EXPECT(ctx, is_floating(dtype) || dtype == ScalarType::Byte,
                 "resizing takes floating point or uint8, found %s", name_of(dtype)) ||
      !expect_images(ctx, "self", self, spatial) || !expect_dtype(ctx, "out", out, dtype) ||
      !expect_spatial_list(ctx, "output_size", *arguments.output_size, spatial, 1, 1, sizes) ||
      !resize(ctx, out, image_shape(self, spatial, sizes))) {
    return false;
  }
  const Images images(self, spatial);
  if (!images.expect_pixels(ctx, "self")) return false;
  for (int d = 0; d < kSpatial; ++d) {
    axes[d].in = images.sizes[d];
    axes[d].out = sizes[d];
    axes[d].set_ratio(align_corners, arguments.scales[d]);
  }
  return true;
}

/// Number of channels that are innermost in both images and are moved as one wide pixel: all or
/// one.
int64_t side_by_side(const Images& from, const Images& to) {
  const int64_t size = size_of(from.first.dtype), pixel = from.channels * size;
  const auto dense = [&](const Images& images) {
    return images.first.channel_stride == size && images.first.strides[2] == pixel;
  };
  return from.channels > 1 && dense(from) && dense(to) ? from.channels : 1;
}

/// Calls f(plane of the input, plane of the output) for every channel of every image.
template <class F>
void for_each_plane(const Images& from, const Images& to, F&& f) {
  // A batch without channels takes no memory, and may have any size.
  if (from.channels == 0) return;
  for (int64_t image = 0; image < from.batch; ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      f(from.plane(image, channel), to.plane(image, channel));
    }
  }
}

enum class Nearest { Floor, Center };

/// ATen computes the coordinate in float32, and so its rounding is part of the operator.
int64_t source(const ResizeAxis& axis, Nearest mode, int64_t q) {
  const float ratio = float(axis.ratio);
  if (mode == Nearest::Floor && axis.in == axis.out && ratio == 1.0f) return q;
  const float at = mode == Nearest::Floor ? float(q) * ratio : (float(q) + 0.5f) * ratio;
  return std::min(int64_t(std::floor(at)), axis.in - 1);
}

/// Copies n pixels of `bytes` from `offsets` to places `stride` apart.
void pick(char* to, int64_t stride, const char* from, const int64_t* offsets, int64_t n,
          int64_t bytes) {
  const bool one = visit_width(bytes, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    for (int64_t q = 0; q < n; ++q) {
      *reinterpret_cast<T*>(to + q * stride) = *reinterpret_cast<const T*>(from + offsets[q]);
    }
  });
  if (one) return;
  for (int64_t q = 0; q < n; ++q) {
    std::memcpy(to + q * stride, from + offsets[q], size_t(bytes));
  }
}

/// Resizes pixels of `bytes` bytes, which are one channel or all channels. Source columns are
/// computed once for all rows; a row with the same source row as its predecessor is copied from it.
void resize_nearest(const ResizeAxis* axes, Nearest mode, const Plane& in, const Plane& out,
                    int64_t bytes) {
  int64_t columns[kBlock];
  for (int64_t first = 0; first < axes[2].out; first += kBlock) {
    const int64_t n = std::min(kBlock, axes[2].out - first);
    for (int64_t q = 0; q < n; ++q) columns[q] = source(axes[2], mode, first + q) * in.strides[2];
    for (int64_t z = 0; z < axes[0].out; ++z) {
      const char* const depth = in.data + source(axes[0], mode, z) * in.strides[0];
      const char* previous = nullptr;
      for (int64_t y = 0; y < axes[1].out; ++y) {
        const char* const from = depth + source(axes[1], mode, y) * in.strides[1];
        char* const to =
            out.data + z * out.strides[0] + y * out.strides[1] + first * out.strides[2];
        if (from == previous && out.strides[2] == bytes) {
          std::memcpy(to, to - out.strides[1], size_t(n * bytes));
        } else {
          pick(to, out.strides[2], from, columns, n, bytes);
        }
        previous = from;
      }
    }
  }
}

Tensor& nearest(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                const ResizeArguments& arguments, Nearest mode, Tensor& out) {
  ResizeAxis axes[kSpatial];
  if (!prepare_resize(ctx, self, spatial, arguments, false, out, axes)) return out;
  Images from(self, spatial), to(out, spatial);
  const int64_t lanes = side_by_side(from, to);
  if (lanes > 1) from.channels = 1;
  for_each_plane(from, to, [&](const Plane& in, const Plane& result) {
    resize_nearest(axes, mode, in, result, lanes * size_of(in.dtype));
  });
  return out;
}

Tensor& interpolate(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
                    const ResizeArguments& arguments, const Filter& filter, Tensor& out) {
  ResizeAxis axes[kSpatial];
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, dtype != ScalarType::Byte || spatial == 2,
                 "interpolation of uint8 takes two dimensions, found %d", spatial) ||
      !prepare_resize(ctx, self, spatial, arguments, filter.align_corners, out, axes) ||
      out.numel() == 0) {
    return out;
  }
  Images from(self, spatial), to(out, spatial);
  const int64_t lanes = side_by_side(from, to);
  if (lanes > 1) from.channels = 1;
  const auto run = [&](auto resizer) {
    if (!resizer.prepare(ctx, axes, filter, dtype, lanes)) return;
    for_each_plane(from, to,
                   [&](const Plane& in, const Plane& result) { resizer.run(in, result); });
  };
  // uint8 is resized in 16-bit integers, which float64 holds, and weights found in float64.
  if (dtype == ScalarType::Byte) {
    run(PlaneResizer<double>());
  } else {
    visit_floating(dtype, [&](auto tag) { run(PlaneResizer<ET_TYPE_OF(tag)>()); });
  }
  return out;
}

Tensor& grid_sampler(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                     int spatial, int64_t interpolation, int64_t padding, bool align_corners,
                     Tensor& out) {
  const ScalarType dtype = input.scalar_type();
  const int rank = spatial + 2;
  const int64_t last = spatial == 2 ? kBicubic : kNearest;
  if (!ET_EXPECT(
          ctx,
          input.dim() == rank && grid.dim() == rank && grid.size(rank - 1) == spatial &&
              grid.size(0) == input.size(0),
          "input must be a batch of images of %d dimensions and grid a point of %d values for "
          "each output, found %s and %s",
          spatial, spatial, ShapeText(input).text, ShapeText(grid).text) ||
      !ET_EXPECT(ctx, is_floating(dtype), "input must be floating point, found %s",
                 name_of(dtype)) ||
      !ET_EXPECT(ctx, interpolation >= kBilinear && interpolation <= last,
                 "interpolation_mode must be from 0 to %" PRId64 ", found %" PRId64, last,
                 interpolation) ||
      !ET_EXPECT(ctx, padding >= kZeros && padding <= kReflection,
                 "padding_mode must be 0, 1 or 2, found %" PRId64, padding) ||
      !expect_same_dtype(ctx, "input", input, "grid", grid) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !Images(input, spatial).expect_pixels(ctx, "input")) {
    return out;
  }
  int64_t sizes[kSpatial];
  for (int d = 0; d < spatial; ++d) sizes[kSpatial - spatial + d] = grid.size(1 + d);
  if (!resize(ctx, out, image_shape(input, spatial, sizes)) || out.numel() == 0) return out;
  visit_floating(dtype, [&](auto tag) {
    GridSampler<ET_TYPE_OF(tag)>(
        {Images(input, spatial), Images(out, spatial), Strided(grid), spatial},
        {interpolation, padding, align_corners})
        .run();
  });
  return out;
}

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

#define ET_INTERPOLATE_2D(name, cubic, antialias)                                     \
  Tensor& name(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size, \
               bool align_corners, Factor scales_h, Factor scales_w, Tensor& out) {   \
    return interpolate(ctx, self, 2, {size, {{}, scales_h, scales_w}},                \
                       {cubic, antialias, align_corners}, out);                       \
  }
ET_INTERPOLATE_2D(upsample_bilinear2d_out, false, false)
ET_INTERPOLATE_2D(upsample_bicubic2d_out, true, false)
ET_INTERPOLATE_2D(_upsample_bilinear2d_aa_out, false, true)
ET_INTERPOLATE_2D(_upsample_bicubic2d_aa_out, true, true)
#undef ET_INTERPOLATE_2D

Tensor& upsample_linear1d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                              bool align_corners, Factor scales, Tensor& out) {
  return interpolate(ctx, self, 1, {size, {{}, {}, scales}}, {false, false, align_corners}, out);
}

Tensor& upsample_trilinear3d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> size, bool align_corners, Factor scales_d,
                                 Factor scales_h, Factor scales_w, Tensor& out) {
  return interpolate(ctx, self, 3, {size, {scales_d, scales_h, scales_w}},
                     {false, false, align_corners}, out);
}

Tensor& upsample_bilinear2d_vec_out(KernelRuntimeContext& ctx, const Tensor& input,
                                    std::optional<ArrayRef<int64_t>> output_size,
                                    bool align_corners,
                                    std::optional<ArrayRef<double>> scale_factors, Tensor& out) {
  int64_t sizes[kSpatial];
  ResizeArguments arguments;
  if (!vec_arguments(ctx, input, 2, output_size, scale_factors, sizes, &arguments)) return out;
  return interpolate(ctx, input, 2, arguments, {false, false, align_corners}, out);
}

Tensor& grid_sampler_2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                            Tensor& out) {
  return grid_sampler(ctx, input, grid, 2, interpolation_mode, padding_mode, align_corners, out);
}

Tensor& grid_sampler_3d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                            Tensor& out) {
  return grid_sampler(ctx, input, grid, 3, interpolation_mode, padding_mode, align_corners, out);
}

}  // namespace executorch::kernels::portable
