// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of float32 in tiles of 8 rows and 32 columns, for processors with AVX-512.
// XNNPACK is built with them (cmake/xnnpack_changes.py) beside its own tile of one row, in the
// place of that of 7. Its loop moves seven pointers for each element along K, and computes all rows
// and columns where few are left; of these, no more than 4 rows and 16 columns are. The sums are
// the same to the bit.
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

EXECUTORCH_GEMM(executorch_f32_gemm_4x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_7x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_8x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_4x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_7x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_8x32_avx512);
EXECUTORCH_WINDOWS(executorch_f32_windows_4x32_avx512);
EXECUTORCH_WINDOWS(executorch_f32_windows_7x32_avx512);
EXECUTORCH_WINDOWS(executorch_f32_windows_8x32_avx512);

/// Those that add to each product another matrix of its shape and strides, before the limits;
/// their `limits` are these.
struct executorch_adding {
  float least, most;
  ptrdiff_t added;  ///< bytes from C to the other matrix
};

EXECUTORCH_GEMM(executorch_f32_gemm_adding_1x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_adding_4x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_adding_7x32_avx512);
EXECUTORCH_GEMM(executorch_f32_gemm_adding_8x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_1x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_4x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_7x32_avx512);
EXECUTORCH_IGEMM(executorch_f32_igemm_adding_8x32_avx512);
