// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions whose windows have fewer points than a kernel takes (those of XNNPACK take
// 3, 4, 9 or 25). The weights of the points that are not there are zero, but what they are
// multiplied with is whatever the table of pointers has behind the window: where that is NaN or
// infinite, so is the result. Here each window has pointers of its own, to zeros for such points.
// (Included by XNNPACK's convolution-nhwc.c.)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xnnpack/operator.h"

static inline bool executorch_fills_taps(const struct xnn_operator* op, enum xnn_operator_type type,
                                         enum xnn_microkernel_type kernel, size_t points) {
  return kernel == xnn_microkernel_type_dwconv && op->ukernel.dwconv.last_tile == 0 &&
         op->ukernel.dwconv.tile_size != points &&
         (type == xnn_operator_type_convolution_nhwc_f32 ||
          type == xnn_operator_type_convolution_nhwc_f16);
}

// Writes the pointers of one window, column after column, and then to zeros; the next one's place.
static inline const void** executorch_point_at_window(const struct xnn_operator* op, size_t y,
                                                      size_t x, size_t pixel_bytes,
                                                      const void** to) {
  const void** const end = to + op->ukernel.dwconv.tile_size;
  for (size_t column = 0; column < op->kernel_width; ++column) {
    for (size_t row = 0; row < op->kernel_height; ++row) {
      // Wraps before the image.
      const size_t in_y = y * op->stride_height + row * op->dilation_height - op->padding_top;
      const size_t in_x = x * op->stride_width + column * op->dilation_width - op->padding_left;
      const size_t offset = (in_y * op->input_width + in_x) * pixel_bytes;
      *to++ = in_y < op->input_height && in_x < op->input_width
                  ? (const void*)((uintptr_t)op->input + offset)
                  : op->zero_buffer;
    }
  }
  while (to != end) *to++ = op->zero_buffer;
  return end;
}

static inline void executorch_point_at_windows(const struct xnn_operator* op, size_t pixel_bytes) {
  const void** to = op->indirection_buffer;
  for (size_t y = 0; y < op->output_height; ++y) {
    for (size_t x = 0; x < op->output_width; ++x) {
      to = executorch_point_at_window(op, y, x, pixel_bytes, to);
    }
  }
}
