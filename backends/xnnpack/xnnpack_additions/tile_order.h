// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The order in which XNNPACK computes the tiles of a matrix product (included by its
// operator-run.c, see cmake/xnnpack_changes.py). Its own goes through all columns for each few
// rows, so that weights of megabytes come from the last cache, or from memory, again and again.
// Here the columns whose weights fit a part of the second cache come first, for all rows, and then
// the next ones. What is computed in a tile, and so every bit, is the same.
#pragma once

#include "pthreadpool.h"
#include "windows_in_image.h"
#include "xnnpack/compute.h"

// A quarter of the second cache of common processors; 64 to 256 KiB measure alike.
#define EXECUTORCH_WEIGHTS_AT_ONCE ((size_t)128 << 10)

struct executorch_tile_task {
  union {
    pthreadpool_task_2d_tile_2d_t one;
    pthreadpool_task_3d_tile_2d_t batch;
  } task;
  void* context;
};

static void executorch_column_tile(void* opaque, size_t column, size_t row, size_t columns,
                                   size_t rows) {
  const struct executorch_tile_task* const self = opaque;
  self->task.one(self->context, row, column, rows, columns);
}

static void executorch_column_tile_of_batch(void* opaque, size_t product, size_t column, size_t row,
                                            size_t columns, size_t rows) {
  const struct executorch_tile_task* const self = opaque;
  self->task.batch(self->context, product, row, column, rows, columns);
}

// The columns of a tile: whole panels of packed weights (their width follows from the stride
// between panels of the output), no more than XNNPACK chose.
static size_t executorch_columns(size_t bytes_of_column, size_t panel, size_t chosen) {
  if (bytes_of_column == 0 || panel == 0) return chosen;
  const size_t fitting = EXECUTORCH_WEIGHTS_AT_ONCE / bytes_of_column / panel * panel;
  const size_t columns = fitting > panel ? fitting : panel;
  return columns < chosen ? columns : chosen;
}

static size_t executorch_gemm_columns(const struct gemm_context* product, size_t chosen) {
  return executorch_columns(product->w_stride, product->cn_stride >> product->log2_csize, chosen);
}

static size_t executorch_igemm_columns(const struct igemm_context* product, size_t chosen) {
  return executorch_columns(product->w_stride, product->cn_stride >> product->log2_csize, chosen);
}

// As pthreadpool_parallelize_2d_tile_2d: products over rows and columns.
static void executorch_parallelize_2d_tile_2d(pthreadpool_t pool,
                                              pthreadpool_task_2d_tile_2d_t task, void* context,
                                              size_t rows, size_t columns, size_t tile_rows,
                                              size_t tile_columns, uint32_t flags) {
  size_t tile = columns;
  if (task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_gemm ||
      task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqgemm) {
    tile = executorch_gemm_columns(context, tile_columns);
  } else if (task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_igemm) {
    tile = executorch_igemm_columns(context, tile_columns);
#if XNN_ARCH_X86_64
    if (executorch_has_windows(context)) {
      task = (pthreadpool_task_2d_tile_2d_t)executorch_compute_windows;
    }
#endif
  }
  if (tile >= columns) {
    pthreadpool_parallelize_2d_tile_2d(pool, task, context, rows, columns, tile_rows, tile_columns,
                                       flags);
    return;
  }
  struct executorch_tile_task swapped = {.task.one = task, .context = context};
  pthreadpool_parallelize_2d_tile_2d(pool, executorch_column_tile, &swapped, columns, rows, tile,
                                     tile_rows, flags);
}

// As pthreadpool_parallelize_3d_tile_2d: batches or groups of such products.
static void executorch_parallelize_3d_tile_2d(pthreadpool_t pool,
                                              pthreadpool_task_3d_tile_2d_t task, void* context,
                                              size_t batch, size_t rows, size_t columns,
                                              size_t tile_rows, size_t tile_columns,
                                              uint32_t flags) {
  size_t tile = columns;
  if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_grouped_gemm) {
    tile = executorch_gemm_columns(context, tile_columns);
  } else if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm ||
             task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_grouped_igemm) {
    tile = executorch_igemm_columns(context, tile_columns);
#if XNN_ARCH_X86_64
    if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm &&
        executorch_has_windows(context)) {
      task = (pthreadpool_task_3d_tile_2d_t)executorch_compute_batch_windows;
    }
#endif
  }
  if (tile >= columns) {
    pthreadpool_parallelize_3d_tile_2d(pool, task, context, batch, rows, columns, tile_rows,
                                       tile_columns, flags);
    return;
  }
  struct executorch_tile_task swapped = {.task.batch = task, .context = context};
  pthreadpool_parallelize_3d_tile_2d(pool, executorch_column_tile_of_batch, &swapped, batch,
                                     columns, rows, tile, tile_rows, flags);
}
