// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The order in which XNNPACK computes the tiles of a matrix product (included by its
// operator-run.c, see cmake/xnnpack_changes.py). Its own goes through all columns for each few
// rows, so that weights of megabytes come from the last cache, or from memory, again and again.
// Here the columns whose weights fit a part of the second cache come first, for all rows, and then
// the next ones. What is computed in a tile, and so every bit, is the same.
#pragma once

#include "pthreadpool.h"
#if XNN_ARCH_X86_64
#include "activated_results.h"
#endif
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

#if XNN_ARCH_X86_64
// Products by the kernels of product_10x32_avx512.h take all rows at once, and all parts of K of
// some columns: where K is long, these are computed in parts, and while one is used, the next one
// is fetched.
#define EXECUTORCH_COLUMNS_OF_PAIR ((size_t)64)
#define EXECUTORCH_ROWS_OF_TWO_TILES ((size_t)12)
// Tasks for a thread, so that those that begin late or are interrupted need not be waited for.
#define EXECUTORCH_TASKS_OF_THREAD ((size_t)4)

struct executorch_whole_product {
  const struct gemm_context* gemm;
  const struct igemm_context* igemm;               // if there is no gemm
  const struct executorch_activation* activation;  // of the results; may be NULL
  size_t rows, columns, tile_columns;
  int adds;
};

static void executorch_part_of_product(void* opaque, size_t image, size_t column, size_t row,
                                       size_t columns, size_t rows) {
  const struct executorch_whole_product* const self = opaque;
  const size_t behind = self->columns - column - columns;
  const size_t next = row + rows < self->rows       ? 0
                      : behind < self->tile_columns ? behind
                                                    : self->tile_columns;
  struct executorch_product product = {
      .rows = rows, .columns = columns, .adds = self->adds, .fetches = 1};
  size_t bytes_of_column;
  if (self->gemm != NULL) {
    const struct gemm_context* const gemm = self->gemm;
    bytes_of_column = gemm->w_stride;
    product.parts = 1;
    product.kc = gemm->k_scaled / sizeof(float);
    product.a = (const float*)((uintptr_t)gemm->a + row * gemm->a_stride);
    product.a_stride = gemm->a_stride;
    product.w = (const float*)((uintptr_t)gemm->packed_w + column * gemm->w_stride);
    product.c = (float*)((uintptr_t)gemm->c + row * gemm->cm_stride + (column << gemm->log2_csize));
    product.cm_stride = gemm->cm_stride;
    product.limits = gemm->fused_params;
  } else {
    const struct igemm_context* const igemm = self->igemm;
    bytes_of_column = igemm->w_stride;
    product.parts = igemm->ks;
    product.kc = igemm->kc / sizeof(float);
    product.table = (const float**)igemm->indirect_a + row * igemm->ks;
    product.each = igemm->ks_scaled / (igemm->ks * sizeof(void*));
    product.a_offset = igemm->a_offset + image * igemm->ba_stride;
    product.zero = igemm->zero;
    product.w = (const float*)((uintptr_t)igemm->packed_w + column * igemm->w_stride);
    product.c = (float*)((uintptr_t)igemm->c + image * igemm->bc_stride + row * igemm->cm_stride +
                         (column << igemm->log2_csize));
    product.cm_stride = igemm->cm_stride;
    product.limits = (const float*)&igemm->params;
  }
  product.bytes_of_next = next * bytes_of_column;
  executorch_f32_product_avx512(&product);
  if (self->activation != NULL) {
    executorch_activate(self->activation, rows, columns * sizeof(float), product.c,
                        product.cm_stride);
  }
}

// Whether a task is such a product, and which; of those in groups, each is one of few columns.
static bool executorch_is_whole_product(void* task, void* context,
                                        struct executorch_whole_product* product) {
  if (task == (void*)xnn_compute_gemm) {
    product->gemm = context;
    xnn_gemm_ukernel_fn kernel = product->gemm->ukernel.function[XNN_UARCH_DEFAULT];
    if (kernel == (xnn_gemm_ukernel_fn)executorch_activated_gemm) {
      product->activation = executorch_activation_in(product->gemm->fused_params);
      kernel = (xnn_gemm_ukernel_fn)product->activation->kernel;
    }
    product->adds = kernel == (xnn_gemm_ukernel_fn)executorch_f32_gemm_adding_5x32_avx512 ||
                    kernel == (xnn_gemm_ukernel_fn)executorch_f32_gemm_adding_10x32_avx512;
    return product->adds || kernel == (xnn_gemm_ukernel_fn)executorch_f32_gemm_5x32_avx512 ||
           kernel == (xnn_gemm_ukernel_fn)executorch_f32_gemm_10x32_avx512;
  }
  if (task == (void*)xnn_compute_igemm || task == (void*)xnn_compute_batch_igemm) {
    product->igemm = context;
    xnn_igemm_ukernel_fn kernel = product->igemm->ukernel.function[XNN_UARCH_DEFAULT];
    if (kernel == (xnn_igemm_ukernel_fn)executorch_activated_igemm) {
      product->activation = executorch_activation_in(&product->igemm->params);
      kernel = (xnn_igemm_ukernel_fn)product->activation->kernel;
    }
    product->adds = kernel == (xnn_igemm_ukernel_fn)executorch_f32_igemm_adding_5x32_avx512 ||
                    kernel == (xnn_igemm_ukernel_fn)executorch_f32_igemm_adding_10x32_avx512;
    return product->adds || kernel == (xnn_igemm_ukernel_fn)executorch_f32_igemm_5x32_avx512 ||
           kernel == (xnn_igemm_ukernel_fn)executorch_f32_igemm_10x32_avx512;
  }
  return false;
}

// Before a product that is not of windows.
static void executorch_prepare_table(void* task, void* context, size_t tile_rows) {
  if ((task == (void*)xnn_compute_igemm || task == (void*)xnn_compute_batch_igemm) &&
      !executorch_has_windows(context)) {
    executorch_fill_table((struct xnn_operator*)executorch_operator_of(context), tile_rows);
  }
}

static void executorch_parallelize_product(pthreadpool_t pool,
                                           struct executorch_whole_product* product, size_t images,
                                           size_t rows, size_t columns, size_t tile_rows,
                                           size_t tile_columns, uint32_t flags) {
  const size_t bytes = product->gemm != NULL ? product->gemm->w_stride : product->igemm->w_stride;
  const size_t chosen =
      tile_columns > EXECUTORCH_COLUMNS_OF_PAIR ? tile_columns : EXECUTORCH_COLUMNS_OF_PAIR;
  product->rows = rows;
  product->columns = columns;
  product->tile_columns = executorch_columns(bytes, EXECUTORCH_COLUMNS_OF_PAIR, chosen);
  const size_t threads = pthreadpool_get_threads_count(pool);
  const size_t tiles = images * divide_round_up(columns, product->tile_columns);
  size_t rows_of_task = rows;
  if (product->activation != NULL) {  // results that are in cache still
    const size_t fitting = EXECUTORCH_WEIGHTS_AT_ONCE / sizeof(float) / product->tile_columns;
    rows_of_task = fitting > tile_rows ? fitting / tile_rows * tile_rows : tile_rows;
  }
  const bool is_uneven = tiles % threads != 0 && tiles < EXECUTORCH_TASKS_OF_THREAD * threads;
  if (threads > 1 && (tiles < 2 * threads || is_uneven)) {
    const size_t parts = divide_round_up(threads * EXECUTORCH_TASKS_OF_THREAD, tiles);
    const size_t step = product->gemm != NULL ? EXECUTORCH_ROWS_OF_TWO_TILES : tile_rows;
    size_t part = divide_round_up(divide_round_up(rows, parts), step) * step;
    // Not a few rows that are left, which take as long as some more.
    if (product->gemm != NULL) part = divide_round_up(rows, divide_round_up(rows, part));
    rows_of_task = part < rows_of_task ? part : rows_of_task;
  }
  pthreadpool_parallelize_3d_tile_2d(pool, executorch_part_of_product, product, images, columns,
                                     rows, product->tile_columns, rows_of_task, flags);
}
#endif

// As pthreadpool_parallelize_2d_tile_2d: products over rows and columns.
static void executorch_parallelize_2d_tile_2d(pthreadpool_t pool,
                                              pthreadpool_task_2d_tile_2d_t task, void* context,
                                              size_t rows, size_t columns, size_t tile_rows,
                                              size_t tile_columns, uint32_t flags) {
  size_t tile = columns;
#if XNN_ARCH_X86_64
  executorch_prepare_table((void*)task, context, tile_rows);
  struct executorch_whole_product product = {0};
  if (executorch_is_whole_product((void*)task, context, &product) &&
      (product.igemm == NULL || !executorch_has_windows(context))) {
    executorch_parallelize_product(pool, &product, 1, rows, columns, tile_rows, tile_columns,
                                   flags);
    return;
  }
#endif
  if (task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_gemm ||
      task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqgemm) {
    tile = executorch_gemm_columns(context, tile_columns);
  } else if (task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_igemm) {
    tile = executorch_igemm_columns(context, tile_columns);
#if XNN_ARCH_X86_64
    if (executorch_has_windows(context)) {
      task = (pthreadpool_task_2d_tile_2d_t)executorch_compute_windows;
      tile_rows = executorch_rows_of_windows(context, tile_rows);
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
#if XNN_ARCH_X86_64
  executorch_prepare_table((void*)task, context, tile_rows);
  struct executorch_whole_product product = {0};
  if (executorch_is_whole_product((void*)task, context, &product) &&
      (product.igemm == NULL || !executorch_has_windows(context))) {
    executorch_parallelize_product(pool, &product, batch, rows, columns, tile_rows, tile_columns,
                                   flags);
    return;
  }
#endif
  if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_grouped_gemm) {
    tile = executorch_gemm_columns(context, tile_columns);
  } else if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm ||
             task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_grouped_igemm) {
    tile = executorch_igemm_columns(context, tile_columns);
#if XNN_ARCH_X86_64
    if (task == (pthreadpool_task_3d_tile_2d_t)xnn_compute_batch_igemm &&
        executorch_has_windows(context)) {
      task = (pthreadpool_task_3d_tile_2d_t)executorch_compute_batch_windows;
      tile_rows = executorch_rows_of_windows(context, tile_rows);
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
