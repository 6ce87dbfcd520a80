// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packing of a convolution's weights (included by XNNPACK's reference/packing.cc, see
// cmake/xnnpack_changes.py). Its own copies them one by one with a call each, which is half of the
// time that loading a residual net takes. What is written is the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "xnnpack/pack.h"

// XNNPACK's own; it is defined among C functions.
extern "C" {
static void executorch_pack_f32_conv_one_by_one(size_t g, size_t nc, size_t ks, size_t kc,
                                                size_t nr, size_t kr, size_t sr, const float* k,
                                                const float* b, const void* scale, float* packed,
                                                size_t extra_bytes, const void* params);
}

// `rows` rows of `columns` numbers, `stride` apart, as columns of `width`.
static void executorch_transpose(const float* from, size_t rows, size_t columns, size_t stride,
                                 float* to, size_t width) {
  // A line of memory of each row at a time.
  constexpr size_t kStep = 16;
  for (size_t begin = 0; begin < columns; begin += kStep) {
    const size_t end = std::min(columns, begin + kStep);
    for (size_t row = 0; row < rows; row++) {
      for (size_t column = begin; column < end; column++) {
        to[column * width + row] = from[row * stride + column];
      }
    }
  }
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
  for (size_t group = 0; group < g; group++) {
    for (size_t start = 0; start < nc; start += nr) {
      const size_t outputs = std::min(nc - start, nr);
      if (b != nullptr) {
        std::copy_n(b + group * nc + start, outputs, packed);
      }
      packed += nr;
      const float* const weights = k + (group * nc + start) * ks * kc;
      for (size_t point = 0; point < ks; point++) {
        executorch_transpose(weights + point * kc, outputs, kc, ks * kc, packed, nr);
        packed += kc * nr;
      }
      packed = reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(packed) + extra_bytes);
    }
  }
}
