// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What products whose results get an activation (activated_tiles.h) are told, and how they get it.
#pragma once

#include <stddef.h>

#include "xnnpack/microfnptr.h"
#include "xnnpack/subgraph.h"

// What kernels are given in place of their parameters: their own lie at its beginning.
struct executorch_activated {
  float min, max;
  const struct executorch_activation* activation;
};

static inline void executorch_activate(const struct executorch_activation* activation, size_t rows,
                                       size_t row_bytes, void* results, size_t stride) {
  const xnn_vunary_ukernel_fn function = (xnn_vunary_ukernel_fn)activation->function;
  if (row_bytes == stride) {
    row_bytes *= rows;
    rows = 1;
  }
  for (size_t row = 0; row < rows; ++row) {
    void* const at = (char*)results + row * stride;
    function(row_bytes, at, at, NULL);
  }
}

static inline const struct executorch_activation* executorch_activation_in(const void* params) {
  return ((const struct executorch_activated*)params)->activation;
}

// In the place of kernels; what they are told says of which.
void executorch_activated_gemm(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride,
                               const void* w, void* c, size_t cm_stride, size_t cn_stride,
                               const void* params);
void executorch_activated_igemm(size_t mr, size_t nc, size_t kc, size_t ks, const void** a,
                                const void* w, void* c, size_t cm_stride, size_t cn_stride,
                                size_t a_offset, const void* zero, const void* params);
void executorch_activated_depthwise(size_t channels, size_t width, const void** input,
                                    const void* weights, void* output, intptr_t input_stride,
                                    size_t increment, size_t input_offset, const void* zero,
                                    const void* params);
