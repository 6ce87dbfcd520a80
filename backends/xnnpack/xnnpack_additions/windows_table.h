// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The table of pointers of convolutions that do without it (windows_in_image.h; included by
// XNNPACK's convolution-nhwc.c as well). Of a first convolution it is the largest memory beside the
// weights: what is not written takes none. Whatever needs it after all, fills it first.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "xnnpack/indirection.h"
#include "xnnpack/operator.h"

#if XNN_ARCH_X86_64
#include "product_10x32_avx512.h"

// Of points with more elements it does not matter how they are found.
#define EXECUTORCH_LARGEST_POINT (16 * sizeof(float))
// The most elements of the image that are copied, with the padding around them.
#define EXECUTORCH_MOST_COPIED 4096

static inline size_t executorch_point_size(const struct xnn_operator* op) {
  return op->group_input_channels * sizeof(float);
}

// Whether rows of windows are contiguous, of small points.
static inline bool executorch_has_small_points(const struct xnn_operator* op) {
  return op->type == xnn_operator_type_convolution_nhwc_f32 && op->groups == 1 &&
         op->dilation_width == 1 && op->input_pixel_stride == op->group_input_channels &&
         executorch_point_size(op) <= EXECUTORCH_LARGEST_POINT;
}

// The most neighbouring windows that can be copied, wherever they are.
static inline size_t executorch_most_windows(const struct xnn_operator* op) {
  const size_t line = op->kernel_height * executorch_point_size(op);
  const size_t across = EXECUTORCH_MOST_COPIED * sizeof(float) / line;
  return across < op->kernel_width ? 0 : (across - op->kernel_width) / op->stride_width + 1;
}

// Whether the windows of so many points can be copied, wherever they are.
static inline bool executorch_can_copy(const struct xnn_operator* op, size_t points) {
  return points <= executorch_most_windows(op);
}

static inline bool executorch_needs_no_table(const struct xnn_operator* op,
                                             struct xnn_hmp_igemm_ukernel kernel,
                                             size_t tile_rows) {
  return kernel.function[XNN_UARCH_DEFAULT] ==
             (xnn_igemm_ukernel_fn)executorch_f32_igemm_10x32_avx512 &&
         executorch_has_small_points(op) && executorch_can_copy(op, tile_rows);
}

// A table that is not filled begins with no pointer.
static inline void executorch_fill_table(struct xnn_operator* op, size_t tile_rows) {
  if (op->type != xnn_operator_type_convolution_nhwc_f32 || op->indirection_buffer[0] != NULL) {
    return;
  }
  const size_t points = op->output_height * op->output_width;
  const size_t size = op->input_pixel_stride * sizeof(float);
  xnn_indirection_init_conv2d(
      tile_rows, 0, (points + tile_rows - 1) / tile_rows * tile_rows, op->indirection_buffer,
      op->last_input, op->zero_buffer, size, op->input_height, op->input_width, op->output_height,
      op->output_width, op->kernel_height, op->kernel_width, op->stride_height, op->stride_width,
      op->dilation_height, op->dilation_width, op->padding_top, op->padding_left);
}
#endif
