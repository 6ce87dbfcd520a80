// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of float32 in tiles of 6 rows and 16 columns, for processors with FMA3 but not
// AVX-512. XNNPACK is built with them (cmake/xnnpack_changes.py) in the place of its own tiles of 5
// rows: a step along K takes 20 instructions for 96 products where those take 25 for 80, which
// counts wherever two threads share a core's front end. The sums are the same to the bit.
#pragma once

#include <stddef.h>

/// The signatures of XNNPACK's gemm and igemm microkernels. All strides, `kc` and `ks` are bytes; W
/// is packed: for each 16 columns their biases, then their weights, row after row of K.
/// `limits` are the smallest and the largest result.
void executorch_f32_gemm_6x16_fma3(size_t mr, size_t nc, size_t kc, const float* a, size_t a_stride,
                                   const float* w, float* c, size_t cm_stride, size_t cn_stride,
                                   const float* limits);
/// A is given by a table of pointers to rows, 6 for each of ks / (6 pointers) parts of K; they are
/// moved by a_offset, but for those to `zero`.
void executorch_f32_igemm_6x16_fma3(size_t mr, size_t nc, size_t kc, size_t ks, const float** a,
                                    const float* w, float* c, size_t cm_stride, size_t cn_stride,
                                    size_t a_offset, const float* zero, const float* limits);
