// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tasks of depthwise convolutions: bands of rows in the place of rows, where depthwise_bands.h
// computes some at once (included by XNNPACK's operator-run.c).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pthreadpool.h"
#include "xnnpack/compute.h"
#include "xnnpack/operator.h"

#if XNN_ARCH_X86_64
#include "activated_results.h"
#include "depthwise_bands.h"
#include "depthwise_rows.h"

// What computes rows of points, beneath an activation of them; *activation is NULL if there is
// none.
static xnn_dwconv_unipass_ukernel_fn executorch_depthwise_kernel(
    const struct dwconv_context* context, const struct executorch_activation** activation) {
  *activation = NULL;
  if (context->unipass_ukernel != executorch_activated_depthwise) return context->unipass_ukernel;
  *activation = executorch_activation_in(&context->params);
  return (xnn_dwconv_unipass_ukernel_fn)(*activation)->kernel;
}

// What computes some rows at once, so many as *rows; NULL if nothing does.
static executorch_compute_rows* executorch_rows_at_once(const struct dwconv_context* context,
                                                        size_t* rows) {
  const struct executorch_activation* activation;
  const xnn_dwconv_unipass_ukernel_fn kernel = executorch_depthwise_kernel(context, &activation);
  if (kernel != (xnn_dwconv_unipass_ukernel_fn)executorch_f32_depthwise_9p16c_avx512 &&
      kernel != (xnn_dwconv_unipass_ukernel_fn)executorch_f32_depthwise_25p16c_avx512) {
    return NULL;
  }
  const struct xnn_operator* const op =
      (const struct xnn_operator*)((uintptr_t)context -
                                   offsetof(struct xnn_operator, context.dwconv.dwconv));
  const struct executorch_windows_of_band windows = {op->kernel_height, op->stride_height};
  // Windows whose table has a place for each of their points, and for no others.
  const bool is_square = op->kernel_width == windows.size && op->stride_width == windows.step &&
                         op->dilation_height * op->dilation_width == 1 &&
                         context->indirect_input_width_stride ==
                             (intptr_t)(windows.step * windows.size * sizeof(void*));
  return is_square ? executorch_find_rows_at_once(windows, rows) : NULL;
}

// As xnn_compute_dwconv_unipass, for some rows.
static void executorch_compute_band(void* opaque, size_t image, size_t row, size_t rows) {
  const struct dwconv_context* const context = opaque;
  const union xnn_f32_minmax_params* const limits = &context->params.f32;
  size_t at_once;
  const size_t point = context->groups * sizeof(float) + context->output_increment;
  const struct executorch_band band = {
      .rows = rows,
      .width = context->output_width,
      .channels = context->groups,
      .table = (const float**)((uintptr_t)context->indirect_input +
                               row * context->indirect_input_height_stride),
      .table_row = context->indirect_input_height_stride,
      .offset = context->input_offset + image * context->input_batch_stride,
      .zero = context->zero,
      .weights = context->packed_weights,
      .output = (float*)((uintptr_t)context->output + image * context->output_batch_stride +
                         row * context->output_height_stride),
      .output_row = context->output_height_stride,
      .output_point = point,
      .least = limits->scalar.min,
      .most = limits->scalar.max};
  const size_t done = rows - executorch_rows_at_once(context, &at_once)(&band);
  const struct executorch_activation* activation;
  executorch_depthwise_kernel(context, &activation);
  for (size_t i = 0; i < done && activation != NULL; ++i) {
    executorch_activate(activation, band.width, band.channels * sizeof(float),
                        (char*)band.output + i * band.output_row, point);
  }
  for (size_t i = done; i < rows; ++i) xnn_compute_dwconv_unipass(context, image, row + i);
}
#endif

// As pthreadpool_parallelize_2d: among others, images and their rows.
static void executorch_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* context,
                                      size_t images, size_t rows, uint32_t flags) {
#if XNN_ARCH_X86_64
  size_t at_once;
  if (task == (pthreadpool_task_2d_t)xnn_compute_dwconv_unipass &&
      executorch_rows_at_once(context, &at_once) != NULL) {
    pthreadpool_parallelize_2d_tile_1d(pool, executorch_compute_band, context, images, rows,
                                       at_once, flags);
    return;
  }
#endif
  pthreadpool_parallelize_2d(pool, task, context, images, rows, flags);
}
