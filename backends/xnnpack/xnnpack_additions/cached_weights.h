// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Weights that need no packing because a cache has them (included by XNNPACK's convolutions, see
// cmake/xnnpack_changes.py). Its own depthwise and transposed convolutions ask the cache only when
// they have packed.
#pragma once

#include <stdbool.h>

#include "xnnpack/math.h"
#include "xnnpack/operator-utils.h"
#include "xnnpack/operator.h"

/// Where a cache has the packed weights of an operator; NULL if there is no cache or it has none.
static inline void* executorch_cached_weights(xnn_operator_t op, uint32_t seed, const void* kernel,
                                              const void* bias) {
  if (!use_weights_cache(op)) return NULL;
  const struct xnn_weights_cache_look_up_key key = {seed, kernel, bias};
  struct xnn_weights_cache_provider* const cache = op->weights_cache;
  const size_t offset = cache->look_up(cache->context, &key);
  return offset == SIZE_MAX ? NULL : cache->offset_to_addr(cache->context, offset);
}

/// Tells each part of a transposed convolution, one for each step of the output in a stride, where
/// its weights begin: what packing does by the way. Parts follow each other; each has, for every
/// column of n_stride, the bytes of a bias and of k_stride weights for each of its kernel's points.
static inline void executorch_place_parts(struct subconvolution_params* parts, void* weights,
                                          size_t kernel_height, size_t kernel_width,
                                          size_t stride_height, size_t stride_width,
                                          size_t bytes_of_point, size_t bytes_of_bias,
                                          size_t n_stride) {
  for (size_t y = 0; y < stride_height; y++) {
    for (size_t x = 0; x < stride_width; x++) {
      const size_t points = divide_round_up(kernel_height - y, stride_height) *
                            divide_round_up(kernel_width - x, stride_width);
      (parts++)->weights = weights;
      weights = (void*)((uintptr_t)weights + (points * bytes_of_point + bytes_of_bias) * n_stride);
    }
  }
}
