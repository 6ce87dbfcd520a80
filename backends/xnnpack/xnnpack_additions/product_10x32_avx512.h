// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of float32 in tiles of 10 rows and 32 columns, for processors with AVX-512.
// XNNPACK is built with them (cmake/xnnpack_changes.py) beside its own tile of one row, in the
// place of that of 7. Its loop moves seven pointers for each element along K, and computes all rows
// and columns where few are left; of these, no more columns than 16 are. Where there are two panels
// of 32 columns, 5 or 6 rows of both are computed at once: an element of A is then loaded for four
// multiplications, where XNNPACK's tile needs it for two. Where the last columns are eight, a
// vector has those of two rows. The sums are the same to the bit.
#pragma once

#include <stddef.h>

/// The signatures of XNNPACK's gemm and igemm microkernels. All strides, `kc` and `ks` are bytes; W
/// is packed: for each 32 columns their biases, then their weights, row after row of K. `limits`
/// are the smallest and the largest result.
#define EXECUTORCH_GEMM(name)                                                                 \
  void name(size_t mr, size_t nc, size_t kc, const float* a, size_t a_stride, const float* w, \
            float* c, size_t cm_stride, size_t cn_stride, const float* limits)
/// A is given by a table of pointers to rows, as many as a tile has for each part of K; they are
/// moved by a_offset, but for those to `zero`.
#define EXECUTORCH_IGEMM(name)                                                                     \
  void name(size_t mr, size_t nc, size_t kc, size_t ks, const float** a, const float* w, float* c, \
            size_t cm_stride, size_t cn_stride, size_t a_offset, const float* zero,                \
            const float* limits)
/// A is `parts` parts of K, with part_stride bytes from one to the next, in rows with a_stride
/// bytes from one to the next, which may overlap: the windows of neighbouring points of an image,
/// of which a part is a row of pixels.
#define EXECUTORCH_WINDOWS(name)                                                               \
  void name(size_t mr, size_t nc, size_t kc, size_t parts, size_t part_stride, const float* a, \
            size_t a_stride, const float* w, float* c, size_t cm_stride, size_t cn_stride,     \
            const float* limits)

EXECUTORCH_GEMM(executorch_f32_gemm_5x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_10x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_5x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_10x32_avx512);
EXECUTORCH_WINDOWS(executorch_f32_windows_10x32_avx512);

/// Those that add to each product another matrix of its shape and strides, before the limits;
/// their `limits` are these.
struct executorch_adding {
  float least, most;
  ptrdiff_t added;  ///< bytes from C to the other matrix
};

EXECUTORCH_GEMM(executorch_f32_gemm_adding_1x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_adding_5x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_adding_10x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_1x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_5x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_10x32_avx512);

/// A product of any number of rows, as such a kernel for each tile of them gives it.
struct executorch_product {
  size_t rows, columns;
  /// A: `parts` parts of K with kc elements each. Rows of a_stride bytes that begin at `a`,
  /// part_stride bytes from part to part; or else, for each `each` rows, so many pointers for every
  /// part.
  size_t parts, kc;
  const float* a;
  size_t a_stride, part_stride;
  const float** table;
  size_t each, a_offset;
  const float* zero;
  const float* w;
  float* c;
  size_t cm_stride;  ///< panels of 32 columns lie next to each other
  const float* limits;
  int adds;              ///< `limits` are an executorch_adding's
  int fetches;           ///< the weights may be far, and are asked for early
  size_t bytes_of_next;  ///< of weights behind these, which are needed next
};

void executorch_f32_product_avx512(const struct executorch_product* product);
