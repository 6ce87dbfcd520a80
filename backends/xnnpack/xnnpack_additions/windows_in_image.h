// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of convolutions as windows of an image (included by tile_order.h). XNNPACK finds each point
// of each window by a pointer in a table: for a first convolution, of few elements a point, the
// table is larger than image and result, and its pointers cost as much as the products. Here a row
// of a window is one step, found by its place in the image, or, where windows reach into padding,
// in a copy with zeros around. What is computed is the same, in the same order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xnnpack/common.h"
#include "xnnpack/compute.h"
#include "xnnpack/operator.h"

#if XNN_ARCH_X86_64
#include "activated_results.h"
#include "product_10x32_avx512.h"
#include "windows_table.h"

// The fewest windows of a task: some tiles, so that finding their place costs little.
#define EXECUTORCH_ROWS_OF_TASK 64

typedef EXECUTORCH_WINDOWS((*executorch_windows));

// What multiplies windows as the product's kernel multiplies rows of its table; NULL for others.
static executorch_windows executorch_windows_of(const struct igemm_context* product) {
  xnn_igemm_ukernel_fn kernel = product->ukernel.function[XNN_UARCH_DEFAULT];
  if (kernel == (xnn_igemm_ukernel_fn)executorch_activated_igemm) {
    kernel = (xnn_igemm_ukernel_fn)executorch_activation_in(&product->params)->kernel;
  }
  if (kernel == (xnn_igemm_ukernel_fn)executorch_f32_igemm_10x32_avx512) {
    return executorch_f32_windows_10x32_avx512;
  }
  return NULL;
}

static const struct xnn_operator* executorch_operator_of(const struct igemm_context* product) {
  return (const struct xnn_operator*)((uintptr_t)product -
                                      offsetof(struct xnn_operator, context.igemm.igemm));
}

// Whether rows of windows are contiguous, of small points, and there is a kernel for them.
static bool executorch_has_windows(const struct igemm_context* product) {
  if (executorch_windows_of(product) == NULL) return false;
  return executorch_has_small_points(executorch_operator_of(product));
}

// Points of the input along one dimension: those that some windows cover, of which the first few
// and the last few are padding.
struct executorch_points {
  size_t first, count, before, after;
};

static struct executorch_points executorch_points_of(size_t window, size_t windows, size_t stride,
                                                     size_t extent, size_t padding, size_t size) {
  const size_t begin = window * stride, count = (windows - 1) * stride + extent;
  const size_t end = begin + count;  // counted from the padding's begin, as begin is
  const size_t before = begin < padding ? (end < padding ? end : padding) - begin : 0;
  const size_t limit = padding + size;
  const size_t after = end > limit ? end - (begin > limit ? begin : limit) : 0;
  return (struct executorch_points){begin + before - padding, count, before, after};
}

// Lays `columns` of pixels of some rows, `spacing` apart, one behind the other.
static void executorch_copy_padded(const struct xnn_operator* op, const char* image,
                                   struct executorch_points columns, size_t row, size_t bytes,
                                   float* to) {
  const size_t before = columns.before * bytes, after = columns.after * bytes;
  const size_t inside = columns.count * bytes - before - after;
  char* at = (char*)to;
  for (size_t tap = 0; tap < op->kernel_height; ++tap) {
    const size_t y = row + tap * op->dilation_height - op->padding_top;  // wraps before the image
    memset(at, 0, columns.count * bytes);
    if (y < op->input_height) {
      memcpy(at + before, image + (y * op->input_width + columns.first) * bytes, inside);
    }
    at += columns.count * bytes;
  }
}

// As xnn_compute_batch_igemm, for windows of one line of points.
static void executorch_compute_windows_of_line(const struct igemm_context* product, size_t image,
                                               size_t row, size_t column, size_t rows,
                                               size_t columns) {
  const struct xnn_operator* const op = executorch_operator_of(product);
  const size_t y = row / op->output_width, x = row % op->output_width;
  const struct executorch_points down = executorch_points_of(
      y, 1, op->stride_height, (op->kernel_height - 1) * op->dilation_height + 1, op->padding_top,
      op->input_height);
  const struct executorch_points across = executorch_points_of(
      x, rows, op->stride_width, op->kernel_width, op->padding_left, op->input_width);
  const bool is_inside = down.before + down.after + across.before + across.after == 0;
  const size_t pixel = product->kc;
  const size_t copied = op->kernel_height * across.count * pixel;
  if (!is_inside && copied > EXECUTORCH_MOST_COPIED * sizeof(float)) {
    xnn_compute_batch_igemm(product, image, row, column, rows, columns);
    return;
  }
  const char* const from = (const char*)op->input + image * product->ba_stride;
  const float* first = (const float*)(from + (down.first * op->input_width + across.first) * pixel);
  size_t line = op->dilation_height * op->input_width * pixel;
  float padded[EXECUTORCH_MOST_COPIED];
  if (!is_inside) {
    executorch_copy_padded(op, from, across, y * op->stride_height, pixel, padded);
    first = padded;
    line = across.count * pixel;
  }
  const uintptr_t to = (uintptr_t)product->c + image * product->bc_stride +
                       row * product->cm_stride + (column << product->log2_csize);
  executorch_windows_of(product)(
      rows, columns, op->kernel_width * pixel, op->kernel_height, line, first,
      op->stride_width * pixel,
      (const float*)((uintptr_t)product->packed_w + column * product->w_stride), (float*)to,
      product->cm_stride, product->cn_stride, (const float*)&product->params);
  if (product->ukernel.function[XNN_UARCH_DEFAULT] ==
      (xnn_igemm_ukernel_fn)executorch_activated_igemm) {
    executorch_activate(executorch_activation_in(&product->params), rows, columns * sizeof(float),
                        (float*)to, product->cm_stride);
  }
}

// How many windows of a line, from x on and no more than `left`, are computed at once: those that
// reach into padding apart from those inside of the image, of which nothing is copied.
static size_t executorch_windows_at_once(const struct xnn_operator* op, size_t x, size_t left,
                                         size_t tile) {
  const size_t stride = op->stride_width, end = op->padding_left + op->input_width;
  const size_t inside = end < op->kernel_width ? 0 : (end - op->kernel_width) / stride + 1;
  const size_t most = executorch_most_windows(op);
  size_t count = x * stride < op->padding_left || x >= inside ? tile : inside - x;
  count = count < most ? count : most;
  return count < left ? count : left;
}

// As xnn_compute_batch_igemm.
static void executorch_compute_batch_windows(const struct igemm_context* product, size_t image,
                                             size_t row, size_t column, size_t rows,
                                             size_t columns) {
  const struct xnn_operator* const op = executorch_operator_of(product);
  const size_t width = op->output_width, end = row + rows, tile = op->ukernel.igemm.mr;
  const bool is_copied = executorch_can_copy(op, tile);
  if (row / width != (end - 1) / width && !is_copied) {  // the table has whole tiles only
    xnn_compute_batch_igemm(product, image, row, column, rows, columns);
    return;
  }
  while (row < end) {
    const size_t behind = (row / width + 1) * width;
    size_t count = (behind < end ? behind : end) - row;
    if (is_copied) count = executorch_windows_at_once(op, row % width, count, tile);
    executorch_compute_windows_of_line(product, image, row, column, count, columns);
    row += count;
  }
}

// Rows of a task: some whole lines of points.
static size_t executorch_rows_of_windows(const struct igemm_context* product, size_t tile_rows) {
  const struct xnn_operator* const op = executorch_operator_of(product);
  if (!executorch_can_copy(op, op->ukernel.igemm.mr)) return tile_rows;
  const size_t width = op->output_width;
  return (EXECUTORCH_ROWS_OF_TASK + width - 1) / width * width;
}

// As xnn_compute_igemm.
static void executorch_compute_windows(const struct igemm_context* product, size_t row,
                                       size_t column, size_t rows, size_t columns) {
  executorch_compute_batch_windows(product, 0, row, column, rows, columns);
}
#endif
