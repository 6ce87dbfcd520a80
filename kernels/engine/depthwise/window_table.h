// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tables of pointers to the taps of a row of windows, for depthwise convolutions of any type:
// window after window, column after column. Windows that overlap share the pointers of the columns
// that they share.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {

class WindowTable {
 public:
  WindowTable(const Conv2dParams& params, ImageSize input)
      : p_(params), input_(input), width_(output_size(params, input).width) {}

  size_t taps() const { return p_.kernel_height * p_.kernel_width; }
  /// Pointers from a window to the next one.
  size_t step() const { return is_shared() ? p_.stride_width * p_.kernel_height : taps(); }
  /// Pointers of a row, rounded up to whole cache lines.
  size_t pointers() const {
    if (width_ == 0) return 0;
    const size_t before_last = limited_product(width_ - 1, step());
    return round_up(limited_sum(before_last, taps()), kAlignment / sizeof(void*));
  }
  /// Bytes of a table for each thread.
  size_t bytes(size_t threads) const {
    return limited_product(threads, limited_product(pointers(), sizeof(void*)));
  }

  /// The pointers of row `y` of outputs. image: the first pixel; zero: a pixel of padding.
  template <class T>
  void fill(const T* image, size_t pixel_stride, const T* zero, size_t y, const T** to) const {
    if (width_ == 0) return;
    const size_t windows = is_shared() ? 1 : width_;
    const size_t columns =
        is_shared() ? (width_ - 1) * p_.stride_width + p_.kernel_width : p_.kernel_width;
    for (size_t window = 0; window < windows; ++window) {
      for (size_t column = 0; column < columns; ++column) {
        const size_t x =
            window * p_.stride_width + column * p_.dilation_width - p_.pad_left;  // wraps
        for (size_t ky = 0; ky < p_.kernel_height; ++ky) {
          const size_t in_y = y * p_.stride_height + ky * p_.dilation_height - p_.pad_top;
          const bool is_inside = in_y < input_.height && x < input_.width;
          *to++ = is_inside ? image + (in_y * input_.width + x) * pixel_stride : zero;
        }
      }
    }
  }

 private:
  bool is_shared() const { return p_.dilation_width == 1; }

  const Conv2dParams& p_;
  ImageSize input_;
  size_t width_;
};

}  // namespace executorch::kernels::engine
