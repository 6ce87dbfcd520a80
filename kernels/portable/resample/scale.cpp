// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/resample/scale.h>

namespace executorch::kernels::portable {

void ResizeAxis::set_ratio(bool align_corners, std::optional<double> scale) {
  if (align_corners) {
    ratio = out > 1 ? double(in - 1) / double(out - 1) : 0;
  } else {
    ratio = scale && *scale > 0 ? 1 / *scale : double(in) / double(out);
  }
}

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
  for (int d = 0; d < kSpatial; ++d) {
    axes[d].in = images.sizes[d];
    axes[d].out = sizes[d];
    axes[d].set_ratio(align_corners, arguments.scales[d]);
    if (!ET_EXPECT(ctx, axes[d].in > 0, "self has an empty spatial dimension: %s",
                   ShapeText(self).text)) {
      return false;
    }
  }
  return true;
}

}  // namespace executorch::kernels::portable
