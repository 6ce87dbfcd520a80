// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Images in memory, and windows that slide over them.
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels {

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

bool Images::has_rows_of_channels() const {
  return sizes[0] == 1 && channels > 1 && first.channel_stride == width_of(first.dtype);
}

void Images::take_channels_as_rows() {
  for (int d = 1; d < kSpatial; ++d) {
    sizes[d - 1] = sizes[d];
    first.strides[d - 1] = first.strides[d];
  }
  sizes[kSpatial - 1] = channels;
  first.strides[kSpatial - 1] = first.channel_stride;
  channels = 1;
}

void WindowLoops::take_channels_as_rows(int64_t channels) {
  axis[0] = axis[1], axis[1] = axis[2];
  axis[2] = {channels, channels, 0, 1, 1, 0, 1, 0, 1, 1};
  has_rows_of_channels = true;
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
                         int spatial, int64_t min_value, int64_t missing, int64_t* values) {
  // Larger arguments have no valid use, and the product of two smaller ones does not overflow.
  constexpr int64_t kLimit = int64_t(1) << 31;
  const bool fits = list.size() == 1 || int64_t(list.size()) == spatial;
  if (!ET_EXPECT(ctx, fits, "%s must have 1 or %d values, found %zu", name, spatial, list.size())) {
    return false;
  }
  std::fill_n(values, kSpatial, missing);
  for (int d = 0; d < spatial; ++d) {
    const int64_t value = list[list.size() == 1 ? 0 : d];
    values[kSpatial - spatial + d] = value;
    if (!ET_EXPECT(ctx, value >= min_value && value < kLimit,
                   "%s must be at least %" PRId64 ", found %" PRId64, name, min_value, value)) {
      return false;
    }
  }
  return true;
}

void WindowAxis::outputs_inside(int64_t tap, int64_t* first, int64_t* last) const {
  const int64_t at = origin + tap * tap_shift;
  *first = at >= 0 ? 0 : std::min(outputs, (-at + step - 1) / step);
  const bool all = at + (outputs - 1) * step < in;  // mostly, and no division then
  *last = at >= in ? *first : std::max(*first, all ? outputs : (in - 1 - at) / step + 1);
}

void WindowAxis::taps_inside(int64_t begin, int64_t end, int64_t* first, int64_t* last) const {
  *first = 0;
  *last = taps;
  if (taps <= in || tap_shift <= 0) return;
  const int64_t before = -input(end - 1, 0), after = in - input(begin, 0);
  *first = before <= 0 ? 0 : std::min(taps, (before + tap_shift - 1) / tap_shift);
  *last = after <= 0 ? *first : std::max(*first, std::min(taps, (after - 1) / tap_shift + 1));
}

bool WindowLoops::fit() const {
  constexpr int64_t kLimit = int64_t(1) << 31;
  int64_t outputs = 1, taps = 1;
  for (const WindowAxis& a : axis) {
    outputs *= std::min(a.outputs, kLimit);
    taps *= std::min(a.taps, kLimit);
    if (outputs >= kLimit || taps >= kLimit) return false;
  }
  return true;
}

}  // namespace executorch::kernels
