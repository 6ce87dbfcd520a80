// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The table of pointers to the points of a depthwise convolution's windows. XNNPACK finds each for
// itself, which takes longest of all where weights are packed already. Rows of windows that lie
// within the image have the pointers of the row before, a step further down. (Included by XNNPACK's
// convolution-nhwc.c.)
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "xnnpack/indirection.h"
#include "xnnpack/math.h"
#include "xnnpack/operator.h"

/// Sizes of the table, in pointers.
struct executorch_depthwise_table {
  size_t row, window;  // from one to the next
  size_t tile;         // what kernels read of a window
};

/// Rows `begin` to `end` of the table, as XNNPACK fills it.
static inline void executorch_fill_rows(const struct xnn_operator* op, size_t pixel_bytes,
                                        const struct executorch_depthwise_table* table,
                                        size_t begin, size_t end) {
  xnn_indirection_init_dwconv2d(
      begin, end, op->indirection_buffer, op->input, pixel_bytes, op->zero_buffer, op->input_height,
      op->input_width, op->output_height, op->output_width, op->kernel_height, op->kernel_width,
      op->stride_height, op->stride_width, op->dilation_height, op->dilation_width, op->padding_top,
      op->padding_left, table->row, table->window, table->tile);
}

static inline void executorch_fill_depthwise_table(const struct xnn_operator* op,
                                                   size_t pixel_bytes,
                                                   const struct executorch_depthwise_table* table) {
  const size_t rows = op->output_height;
  const size_t first = divide_round_up(op->padding_top, op->stride_height);
  const size_t below = op->input_height + op->padding_top;
  const size_t reach = (op->kernel_height - 1) * op->dilation_height;
  const size_t within = below > reach ? (below - reach - 1) / op->stride_height + 1 : 0;
  // Behind the last row there are pointers that kernels read beyond it.
  const size_t last = min(within, rows - 1);
  if (rows == 0 || last <= first + 1) {
    executorch_fill_rows(op, pixel_bytes, table, 0, rows);
    return;
  }
  executorch_fill_rows(op, pixel_bytes, table, 0, first + 1);
  const uintptr_t step = op->stride_height * op->input_width * pixel_bytes;
  const uintptr_t zeros = (uintptr_t)op->zero_buffer;
  const uintptr_t* from = (const uintptr_t*)op->indirection_buffer + first * table->row;
  uintptr_t* const to = (uintptr_t*)op->indirection_buffer + (first + 1) * table->row;
  for (size_t i = 0; i < (last - first - 1) * table->row; ++i) {
    to[i] = from[i] == zeros ? zeros : from[i] + step;
  }
  executorch_fill_rows(op, pixel_bytes, table, last, rows);
}
