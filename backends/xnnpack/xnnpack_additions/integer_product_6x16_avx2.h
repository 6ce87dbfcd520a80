// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of int8 in tiles of 6 rows and 16 columns, for processors with AVX2 but without
// instructions for products of bytes (VNNI) or AVX-512. XNNPACK is built with them
// (cmake/xnnpack_changes.py) in the place of its own tiles of 3 or 4 rows and 8 columns: those
// extend every byte of A anew for each 8 columns, and their 16 sums and operands do not fit the 16
// registers. Here A's rows are extended to 16 bits once, two steps along K are one multiplication,
// and no sum has to be added up across a register. The results are the same to the bit.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "xnnpack/microparams.h"

/// The signatures of XNNPACK's gemm and igemm microkernels, for up to 6 rows. W is packed (nr = 16,
/// kr = 2): for each 16 columns 32-bit beginnings of their sums, then, two steps along K at a time,
/// two bytes of each column, then their scales and, where the result is float, their biases.
/// A is quantized while running: a zero point and a scale for each of its rows, the result is
/// float.
void executorch_qd8_f32_qc8w_gemm_6x16c2_avx2(
    size_t mr, size_t nc, size_t kc, const int8_t* a, size_t a_stride, const void* w, float* c,
    size_t cm_stride, size_t cn_stride, const union xnn_f32_minmax_params* params,
    const struct xnn_qd8_quantization_params* quantization);
/// One zero point and scale for all rows. A is given by a table of pointers to rows, 6 for each of
/// ks / (6 pointers) parts of K; they are moved by a_offset, but for `zero`, read from zero_data.
void executorch_qd8_f32_qc8w_igemm_6x16c2_avx2(
    size_t mr, size_t nc, size_t kc, size_t ks, const int8_t** a, const void* w, float* c,
    size_t cm_stride, size_t cn_stride, size_t a_offset, const int8_t* zero,
    const int8_t* zero_data, const union xnn_f32_minmax_params* params,
    const struct xnn_qd8_quantization_params* quantization);
/// As above for one row: the table has 1 pointer for each part of K.
void executorch_qd8_f32_qc8w_igemm_1x16c2_avx2(
    size_t mr, size_t nc, size_t kc, size_t ks, const int8_t** a, const void* w, float* c,
    size_t cm_stride, size_t cn_stride, size_t a_offset, const int8_t* zero,
    const int8_t* zero_data, const union xnn_f32_minmax_params* params,
    const struct xnn_qd8_quantization_params* quantization);
/// The result is int8.
void executorch_qs8_qc8w_gemm_6x16c2_avx2(size_t mr, size_t nc, size_t kc, const int8_t* a,
                                          size_t a_stride, const void* w, int8_t* c,
                                          size_t cm_stride, size_t cn_stride,
                                          const union xnn_qs8_qc8w_conv_minmax_params* params);
void executorch_qs8_qc8w_igemm_6x16c2_avx2(size_t mr, size_t nc, size_t kc, size_t ks,
                                           const int8_t** a, const void* w, int8_t* c,
                                           size_t cm_stride, size_t cn_stride, size_t a_offset,
                                           const int8_t* zero,
                                           const union xnn_qs8_qc8w_conv_minmax_params* params);
void executorch_qs8_qc8w_igemm_1x16c2_avx2(size_t mr, size_t nc, size_t kc, size_t ks,
                                           const int8_t** a, const void* w, int8_t* c,
                                           size_t cm_stride, size_t cn_stride, size_t a_offset,
                                           const int8_t* zero,
                                           const union xnn_qs8_qc8w_conv_minmax_params* params);
