// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels::portable {

Images::Images(const Tensor& tensor, int spatial) {
  const Strided memory(tensor);
  const int channel = memory.rank - spatial - 1;
  first.data = memory.data;
  first.dtype = memory.dtype;
  if (channel >= 0) {
    channels = memory.sizes[channel];
    first.channel_stride = memory.strides[channel];
  }
  if (channel > 0) {
    batch = memory.sizes[0];
    batch_stride = memory.strides[0];
  }
  for (int d = 0; d < spatial; ++d) {
    sizes[kSpatial - spatial + d] = memory.sizes[channel + 1 + d];
    first.strides[kSpatial - spatial + d] = memory.strides[channel + 1 + d];
  }
}

Plane Images::plane(int64_t image, int64_t channel) const {
  Plane plane = first;
  plane.data += image * batch_stride + channel * first.channel_stride;
  return plane;
}

bool Images::expect_pixels(KernelRuntimeContext& ctx, const char* name) const {
  return ET_EXPECT(ctx, sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0,
                   "%s has an empty spatial dimension: [%" PRId64 ", %" PRId64 ", %" PRId64 "]",
                   name, sizes[0], sizes[1], sizes[2]);
}

bool expect_images(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int spatial) {
  return ET_EXPECT(ctx, tensor.dim() == spatial + 1 || tensor.dim() == spatial + 2,
                   "%s must have %d or %d dimensions, found sizes %s", name, spatial + 1,
                   spatial + 2, ShapeText(tensor).text);
}

Shape image_shape(const Tensor& like, int spatial, const int64_t* sizes) {
  Shape shape(like);
  for (int d = 0; d < spatial; ++d) {
    shape.sizes[shape.rank - spatial + d] = sizes[kSpatial - spatial + d];
  }
  return shape;
}

bool expect_spatial_list(KernelRuntimeContext& ctx, const char* name, ArrayRef<int64_t> list,
                         int spatial, int64_t least, int64_t missing, int64_t* values) {
  // Larger arguments have no use, and products of two below it cannot overflow.
  constexpr int64_t kLimit = int64_t(1) << 31;
  const bool fits = list.size() == 1 || int64_t(list.size()) == spatial;
  if (!ET_EXPECT(ctx, fits, "%s must have 1 or %d values, found %zu", name, spatial, list.size())) {
    return false;
  }
  std::fill_n(values, kSpatial, missing);
  for (int d = 0; d < spatial; ++d) {
    const int64_t value = list[list.size() == 1 ? 0 : d];
    values[kSpatial - spatial + d] = value;
    if (!ET_EXPECT(ctx, value >= least && value < kLimit,
                   "%s must be at least %" PRId64 ", found %" PRId64, name, least, value)) {
      return false;
    }
  }
  return true;
}

}  // namespace executorch::kernels::portable
