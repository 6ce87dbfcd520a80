// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packing of weights by the threads that will use them (for XNNPACK's runtime and its convolutions
// and products, see cmake/xnnpack_packing.py). Its own packs with one thread, layer after layer,
// which is what loading a model takes most of its time for.
#pragma once

#include <pthreadpool.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What this thread packs from now on, it packs with `threads`; NULL for alone.
void executorch_pack_with(pthreadpool_t threads);

/// What stands for the byte that memory is filled with before weights are packed into it: none.
#define EXECUTORCH_NO_PADDING (-1)
/// That, if `pack` writes to all of the memory; otherwise `padding`.
int executorch_padding_of(void* pack, int padding);
/// Says whether the next memory that this thread asks a cache of weights for is written to wholly.
/// If not, it has to be zeros.
void executorch_overwrite_next(bool wholly);
bool executorch_is_overwritten(void);

/// pack(context, part) for each part; of `bytes` in all, which decide whether threads are worth it.
void executorch_pack_parts(pthreadpool_task_1d_t pack, void* context, size_t parts, size_t bytes);

/// `rows` rows of `length` elements, one behind the other, as columns: to is [length, panel].
/// Columns that have no row are left or become zeros.
void executorch_pack_columns(const float* from, size_t rows, size_t length, float* to,
                             size_t panel);

/// For each group and each nr of its nc outputs their biases (zeros for NULL), and for each of kc
/// inputs their weights, as xnn_packw_gemm_goi_ukernel_fn does for kr = sr = 1. Columns of the last
/// panel that have no output are zeros.
void executorch_pack_f32_goi(size_t g, size_t nc, size_t kc, size_t nr, size_t kr, size_t sr,
                             const float* k, const float* b, const void* scale, float* packed,
                             size_t extra_bytes, const void* params);

#ifdef __cplusplus
}
#endif
