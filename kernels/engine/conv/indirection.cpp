// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/indirection.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>

namespace executorch::kernels::engine {
namespace {

/// The pointers of one point's taps, `group` apart.
template <class T>
void fill_point(const Conv2dParams& p, const IndirectImage<T>& image, size_t y, size_t x,
                size_t group, const T** to) {
  const size_t first_x = x * p.stride_width - p.pad_left;  // wraps left of the image
  for (size_t ky = 0; ky < p.kernel_height; ++ky) {
    const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;
    const bool is_inside = in_y < image.size.height;
    const T* const line = image.first + in_y * image.size.width * image.pixel_stride;
    size_t in_x = first_x;
    for (size_t kx = 0; kx < p.kernel_width; ++kx, in_x += p.dilation_width, to += group) {
      *to = is_inside && in_x < image.size.width ? line + in_x * image.pixel_stride : image.zero;
    }
  }
}

}  // namespace

template <class T>
size_t fill_indirection(const Conv2dParams& params, const IndirectImage<T>& image, size_t point,
                        size_t count, size_t group, const T** to) {
  const size_t taps = params.kernel_height * params.kernel_width;
  size_t y = point / image.output.width, x = point % image.output.width;
  const T** at = to;
  for (size_t done = 0; done < count; done += group, at += group * taps) {
    const size_t valid = std::min(group, count - done);
    for (size_t r = 0; r < valid; ++r) {
      fill_point(params, image, y, x, group, at + r);
      if (++x == image.output.width) {
        x = 0;
        ++y;
      }
    }
    for (size_t r = valid; r < group; ++r) {
      for (size_t tap = 0; tap < taps; ++tap) at[tap * group + r] = image.zero;
    }
  }
  return divide_up(count, group) * group * taps;
}

template size_t fill_indirection(const Conv2dParams&, const IndirectImage<float>&, size_t, size_t,
                                 size_t, const float**);
template size_t fill_indirection(const Conv2dParams&, const IndirectImage<int8_t>&, size_t, size_t,
                                 size_t, const int8_t**);

}  // namespace executorch::kernels::engine
