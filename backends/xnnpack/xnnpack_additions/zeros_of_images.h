// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The zeros beside images that are quantized while running: each image has its own, as its zero
// point is its own (included by XNNPACK's convolutions, see cmake/xnnpack_changes.py). Theirs are
// allocated when height or width change, for as many images as there are then, and released for as
// many as there are later: more images write behind them, fewer leave some behind.
#pragma once

#include "xnnpack/allocator.h"
#include "xnnpack/common.h"
#include "xnnpack/operator.h"

/// Makes room for so many images at least; what there is stays. `valid_batch_size`, which pooling
/// alone uses else, is how many there is room for.
static inline enum xnn_status executorch_zeros_of_images(xnn_operator_t op, size_t images) {
  if (images <= op->valid_batch_size) return xnn_status_success;
  void** const zeros = xnn_reallocate_memory(op->zero_buffers, images * sizeof(void*));
  if (zeros == NULL) return xnn_status_out_of_memory;
  op->zero_buffers = zeros;
  zeros[0] = op->zero_buffer;
  if (op->valid_batch_size == 0) op->valid_batch_size = 1;
  for (; op->valid_batch_size < images; op->valid_batch_size++) {
    void* const made = xnn_allocate_simd_memory(op->zero_size);
    if (made == NULL && op->zero_size != 0) return xnn_status_out_of_memory;
    zeros[op->valid_batch_size] = made;
  }
  return xnn_status_success;
}
