// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What our tiles of integer matrix products have in common: the signatures of XNNPACK's gemm and
// igemm microkernels, and the rows of A that either gives. integer_product_6x16_avx2.h and
// integer_product_8x32_vnni.h say what each is for.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "xnnpack/microparams.h"

/// W is packed: for each nr columns 32-bit beginnings of their sums, then, kr steps along K at a
/// time, kr bytes of each column, then their scales and, where the result is float, their biases.
/// A is quantized while running: a zero point and a scale for each of its rows, the result is
/// float.
#define EXECUTORCH_QD8_GEMM(name)                                                             \
  void name(size_t mr, size_t nc, size_t kc, const int8_t* a, size_t a_stride, const void* w, \
            float* c, size_t cm_stride, size_t cn_stride,                                     \
            const union xnn_f32_minmax_params* params,                                        \
            const struct xnn_qd8_quantization_params* quantization)
/// One zero point and scale for all rows. A is given by a table of pointers to rows, as many as a
/// tile has for each part of K, of ks bytes; they are moved by a_offset, but for `zero`, read from
/// zero_data.
#define EXECUTORCH_QD8_IGEMM(name)                                                                 \
  void name(size_t mr, size_t nc, size_t kc, size_t ks, const int8_t** a, const void* w, float* c, \
            size_t cm_stride, size_t cn_stride, size_t a_offset, const int8_t* zero,               \
            const int8_t* zero_data, const union xnn_f32_minmax_params* params,                    \
            const struct xnn_qd8_quantization_params* quantization)
/// As the two above, with the zero point in W; the result is int8.
#define EXECUTORCH_QS8_GEMM(name)                                                             \
  void name(size_t mr, size_t nc, size_t kc, const int8_t* a, size_t a_stride, const void* w, \
            int8_t* c, size_t cm_stride, size_t cn_stride,                                    \
            const union xnn_qs8_qc8w_conv_minmax_params* params)
#define EXECUTORCH_QS8_IGEMM(name)                                                              \
  void name(size_t mr, size_t nc, size_t kc, size_t ks, const int8_t** a, const void* w,        \
            int8_t* c, size_t cm_stride, size_t cn_stride, size_t a_offset, const int8_t* zero, \
            const union xnn_qs8_qc8w_conv_minmax_params* params)

/// The operand of one tile: rows of `parts` parts of K with kc bytes each.
struct rows_of_a {
  const int8_t** pointers;  // `each` for a part, `count` of them used
  size_t each, count, parts, kc, offset;
  const int8_t *zero, *zero_data;
};

/// Where a row's part begins.
static inline const int8_t* executorch_row_of(const struct rows_of_a* a, size_t part, size_t row) {
  const int8_t* const from = a->pointers[part * a->each + row];
  return from == a->zero ? a->zero_data : (const int8_t*)((uintptr_t)from + a->offset);
}

/// The rows of a plain matrix, whose pointers are written to `pointers`, of which there are `each`.
static inline struct rows_of_a executorch_matrix(size_t mr, size_t kc, const int8_t* a,
                                                 size_t stride, const int8_t** pointers,
                                                 size_t each) {
  for (size_t row = 0; row < mr; ++row) {
    pointers[row] = (const int8_t*)((uintptr_t)a + row * stride);
  }
  const struct rows_of_a rows = {pointers, each, mr, 1, kc, 0, NULL, NULL};
  return rows;
}

/// How sums of integers become numbers.
struct executorch_numbers {
  const union xnn_f32_minmax_params* params;
  const struct xnn_qd8_quantization_params* quantization;
  size_t step;  // 1: a zero point and a scale for each row; 0: one for all
};

/// Defines the four kinds for tiles of `rows` rows by to_numbers(rows_of_a*, w, nc, c, cm_stride,
/// cn_stride, executorch_numbers) and to_integers(…, params).
#define EXECUTORCH_DEFINE_GEMM(qd8, qs8, rows_in_tile)                                            \
  EXECUTORCH_QD8_GEMM(qd8) {                                                                      \
    const int8_t* pointers[rows_in_tile];                                                         \
    const struct rows_of_a rows = executorch_matrix(mr, kc, a, a_stride, pointers, rows_in_tile); \
    const struct executorch_numbers as = {params, quantization, 1};                               \
    to_numbers(&rows, w, nc, c, cm_stride, cn_stride, as);                                        \
  }                                                                                               \
  EXECUTORCH_QS8_GEMM(qs8) {                                                                      \
    const int8_t* pointers[rows_in_tile];                                                         \
    const struct rows_of_a rows = executorch_matrix(mr, kc, a, a_stride, pointers, rows_in_tile); \
    to_integers(&rows, w, nc, c, cm_stride, cn_stride, params);                                   \
  }
#define EXECUTORCH_DEFINE_IGEMM(qd8, qs8, each)                                       \
  EXECUTORCH_QD8_IGEMM(qd8) {                                                         \
    const struct rows_of_a rows = {a,  each,     mr,   ks / ((each) * sizeof(void*)), \
                                   kc, a_offset, zero, zero_data};                    \
    const struct executorch_numbers as = {params, quantization, 0};                   \
    to_numbers(&rows, w, nc, c, cm_stride, cn_stride, as);                            \
  }                                                                                   \
  EXECUTORCH_QS8_IGEMM(qs8) {                                                         \
    const struct rows_of_a rows = {a,  each,     mr,   ks / ((each) * sizeof(void*)), \
                                   kc, a_offset, zero, zero};                         \
    to_integers(&rows, w, nc, c, cm_stride, cn_stride, params);                       \
  }
