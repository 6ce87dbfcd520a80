// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/indirection.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>

namespace executorch::kernels::engine {
namespace {

/// The pointers of `count` neighboring points of a row of outputs: those of a tap follow each
/// other, those of the next tap lie `group` further.
template <class T>
void fill_points(const Conv2dParams& p, const IndirectImage<T>& image, size_t y, size_t x,
                 size_t count, size_t group, const T** to) {
  const size_t step = p.stride_width * image.pixel_stride, width = image.size.width;
  for (size_t ky = 0; ky < p.kernel_height; ++ky) {
    const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;  // wraps
    const bool is_inside = in_y < image.size.height;
    const T* const line = image.first + in_y * width * image.pixel_stride;
    for (size_t kx = 0; kx < p.kernel_width; ++kx, to += group) {
      size_t in_x = x * p.stride_width + kx * p.dilation_width - p.pad_left;  // wraps
      const size_t reach = (count - 1) * p.stride_width;
      if (is_inside && in_x < width && reach < width - in_x) {
        const T* pixel = line + in_x * image.pixel_stride;
        for (size_t i = 0; i < count; ++i, pixel += step) to[i] = pixel;
        continue;
      }
      for (size_t i = 0; i < count; ++i, in_x += p.stride_width) {
        to[i] = is_inside && in_x < width ? line + in_x * image.pixel_stride : image.zero;
      }
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
    for (size_t r = 0, run = 0; r < valid; r += run) {
      run = std::min(valid - r, image.output.width - x);
      fill_points(params, image, y, x, run, group, at + r);
      x += run;
      if (x == image.output.width) {
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
