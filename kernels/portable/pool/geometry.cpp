// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/pool/geometry.h>

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

}  // namespace executorch::kernels::portable
