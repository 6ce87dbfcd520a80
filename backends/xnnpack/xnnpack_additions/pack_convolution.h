// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packing of a convolution's weights (included by XNNPACK's reference/packing.cc, see
// cmake/xnnpack_packing.py). Its own copies them one by one with a call each, which is half of the
// time that loading a residual net takes. What is written is the same.
#pragma once

#include <cstddef>

#include "packing.h"
#include "xnnpack/pack.h"

// XNNPACK's own; it is defined among C functions.
extern "C" {
static void executorch_pack_f32_conv_one_by_one(size_t g, size_t nc, size_t ks, size_t kc,
                                                size_t nr, size_t kr, size_t sr, const float* k,
                                                const float* b, const void* scale, float* packed,
                                                size_t extra_bytes, const void* params);
}

// For each group and each nr of its nc outputs: their biases, and for each of ks points of the
// kernel and each of kc inputs their weights. `packed` is zeros.
void xnn_pack_f32_conv_goki_w(size_t g, size_t nc, size_t ks, size_t kc, size_t nr, size_t kr,
                              size_t sr, const float* k, const float* b, const void* scale,
                              float* packed, size_t extra_bytes, const void* params) {
  if (kr != 1 || sr != 1) {
    executorch_pack_f32_conv_one_by_one(g, nc, ks, kc, nr, kr, sr, k, b, scale, packed, extra_bytes,
                                        params);
    return;
  }
  // Points and inputs follow each other in both.
  executorch_pack_f32_goi(g, nc, ks * kc, nr, kr, sr, k, b, scale, packed, extra_bytes, params);
}
