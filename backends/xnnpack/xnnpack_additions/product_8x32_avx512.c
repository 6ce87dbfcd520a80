// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "product_8x32_avx512.h"

#include <immintrin.h>
#include <stdint.h>

#define MOST_ROWS 8
#define FEW_ROWS 4
#define COLUMNS 32
#define HALF 16

#define AVX512 __attribute__((target("avx512f")))
#define INLINE AVX512 static inline __attribute__((always_inline))

// The operand: rows of `parts` parts of K with `kc` elements each.
struct rows_of_a {
  // Bytes from row to row and from part to part of what begins here; or else
  const float* first;
  size_t stride, part_stride;
  const float** table;  // `each` pointers for a part
  size_t each, parts, offset;
  const float* zero;
  size_t kc, count;
  int fetches;  // whether weights are asked for ahead
};

// What becomes of sums. `added`: bytes from a result to what is added to it before the limits.
struct ending {
  const float* limits;
  int adds;
  ptrdiff_t added;
};

static inline const float* moved(const float* pointer, size_t bytes) {
  return (const float*)((uintptr_t)pointer + bytes);
}

// Row `row` of a part; rows that are not there repeat the last one.
INLINE const float* row_of(const struct rows_of_a* a, size_t part, size_t row) {
  if (a->table == NULL) {
    const size_t last = row < a->count ? row : a->count - 1;
    return moved(a->first, part * a->part_stride + last * a->stride);
  }
  const float* const pointer = a->table[part * a->each + row];
  return pointer == a->zero ? pointer : moved(pointer, a->offset);
}

// Adds the products of element k of each row and one row of W.
#define TIMES(k, w)                                                     \
  {                                                                     \
    const __m512 w0 = _mm512_load_ps(w);                                \
    const __m512 w1 = halves == 2 ? _mm512_load_ps((w) + HALF) : w0;    \
    _Pragma("GCC unroll 8") for (size_t r = 0; r < rows; ++r) {         \
      const __m512 element = _mm512_set1_ps(row[r][k]);                 \
      low[r] = _mm512_fmadd_ps(element, w0, low[r]);                    \
      if (halves == 2) high[r] = _mm512_fmadd_ps(element, w1, high[r]); \
    }                                                                   \
  }

// Weights come once from the last cache or from memory, for the first rows that they are multiplied
// with; then they are in the second. The processor alone asks too late for them. In shorter panels
// what lies so far ahead is of no use.
#define AHEAD 8192

// Whether the last product that this thread computed had other weights than these.
static inline int are_new(const float* w, size_t bytes_of_row) {
  static __thread const float* last;
  const int differ = w != last;
  last = w;
  return differ && bytes_of_row * COLUMNS >= 2 * AHEAD;
}

// A panel of columns: all of them, or only the first half.
INLINE void panel(const struct rows_of_a* a, const float* w, float* c, size_t cm_stride, size_t nc,
                  const struct ending* end, const size_t rows, const size_t halves) {
  __m512 low[MOST_ROWS], high[MOST_ROWS];
  const __m512 bias0 = _mm512_load_ps(w), bias1 = _mm512_load_ps(w + HALF);
#pragma GCC unroll 8
  for (size_t r = 0; r < rows; ++r) {
    low[r] = bias0;
    high[r] = bias1;
  }
  w += COLUMNS;
  for (size_t part = 0; part < a->parts; ++part) {
    const float* row[MOST_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; ++r) {
      row[r] = row_of(a, part, r);
    }
    size_t k = 0;
    for (; k + 4 <= a->kc; k += 4) {
      if (a->fetches) {
#pragma GCC unroll 8
        for (size_t line = 0; line < 4 * halves; ++line) {
          _mm_prefetch(moved(w, AHEAD + line * sizeof(__m512)), _MM_HINT_T1);
        }
      }
      TIMES(k, w)
      TIMES(k + 1, w + COLUMNS)
      TIMES(k + 2, w + 2 * COLUMNS)
      TIMES(k + 3, w + 3 * COLUMNS)
      w += 4 * COLUMNS;
    }
    for (; k < a->kc; ++k) {
      TIMES(k, w)
      w += COLUMNS;
    }
  }
  const __m512 least = _mm512_set1_ps(end->limits[0]), most = _mm512_set1_ps(end->limits[1]);
  const uint32_t columns = nc < COLUMNS ? (UINT32_C(1) << nc) - 1 : UINT32_MAX;
#pragma GCC unroll 8
  for (size_t r = 0; r < rows; ++r) {
    if (r < a->count) {  // NaN stays
      float* const to = (float*)((uintptr_t)c + r * cm_stride);
      const float* const added = (const float*)((uintptr_t)to + (uintptr_t)end->added);
      if (end->adds) {
        low[r] = _mm512_add_ps(low[r], _mm512_maskz_loadu_ps((__mmask16)columns, added));
      }
      low[r] = _mm512_min_ps(most, _mm512_max_ps(least, low[r]));
      _mm512_mask_storeu_ps(to, (__mmask16)columns, low[r]);
      if (halves == 2) {
        if (end->adds) {
          const __mmask16 mask = (__mmask16)(columns >> HALF);
          high[r] = _mm512_add_ps(high[r], _mm512_maskz_loadu_ps(mask, added + HALF));
        }
        high[r] = _mm512_min_ps(most, _mm512_max_ps(least, high[r]));
        _mm512_mask_storeu_ps(to + HALF, (__mmask16)(columns >> HALF), high[r]);
      }
    }
  }
}

INLINE void tile(const struct rows_of_a* a, size_t nc, const float* w, float* c, size_t cm_stride,
                 size_t cn_stride, const struct ending* end, const size_t rows) {
  const size_t bytes = (1 + a->parts * a->kc) * COLUMNS * sizeof(float);
  for (; nc > HALF; nc -= COLUMNS) {
    panel(a, w, c, cm_stride, nc, end, rows, 2);
    if (nc <= COLUMNS) return;
    w = moved(w, bytes);
    c = (float*)((uintptr_t)c + cn_stride);
  }
  panel(a, w, c, cm_stride, nc, end, rows, 1);
}

INLINE void product(const struct rows_of_a* a, size_t nc, const float* w, float* c,
                    size_t cm_stride, size_t cn_stride, const struct ending* end,
                    const size_t rows) {
  if (rows <= FEW_ROWS || a->count > FEW_ROWS) {
    tile(a, nc, w, c, cm_stride, cn_stride, end, rows);
  } else {
    tile(a, nc, w, c, cm_stride, cn_stride, end, FEW_ROWS);
  }
}

// gemm and igemm; `adds` and `added` say how they end.
#define DEFINE_PRODUCTS(gemm, igemm, rows, does_add, distance)                         \
  AVX512 EXECUTORCH_GEMM(gemm) {                                                       \
    const struct rows_of_a all = {.first = a,                                          \
                                  .stride = a_stride,                                  \
                                  .parts = 1,                                          \
                                  .kc = kc / sizeof(float),                            \
                                  .count = mr,                                         \
                                  .fetches = are_new(w, kc)};                          \
    const struct ending end = {.limits = limits, .adds = does_add, .added = distance}; \
    product(&all, nc, w, c, cm_stride, cn_stride, &end, rows);                         \
  }                                                                                    \
  AVX512 EXECUTORCH_IGEMM(igemm) {                                                     \
    const size_t parts = ks / (rows * sizeof(void*));                                  \
    const struct rows_of_a all = {.table = a,                                          \
                                  .each = rows,                                        \
                                  .parts = parts,                                      \
                                  .offset = a_offset,                                  \
                                  .zero = zero,                                        \
                                  .kc = kc / sizeof(float),                            \
                                  .count = mr,                                         \
                                  .fetches = are_new(w, parts * kc)};                  \
    const struct ending end = {.limits = limits, .adds = does_add, .added = distance}; \
    product(&all, nc, w, c, cm_stride, cn_stride, &end, rows);                         \
  }

#define DEFINE(rows)                                                                               \
  DEFINE_PRODUCTS(executorch_f32_gemm_##rows##x32_avx512, executorch_f32_igemm_##rows##x32_avx512, \
                  rows, 0, 0)                                                                      \
  AVX512 EXECUTORCH_WINDOWS(executorch_f32_windows_##rows##x32_avx512) {                           \
    const struct rows_of_a all = {.first = a,                                                      \
                                  .stride = a_stride,                                              \
                                  .part_stride = part_stride,                                      \
                                  .parts = parts,                                                  \
                                  .kc = kc / sizeof(float),                                        \
                                  .count = mr,                                                     \
                                  .fetches = are_new(w, parts * kc)};                              \
    const struct ending end = {.limits = limits};                                                  \
    product(&all, nc, w, c, cm_stride, cn_stride, &end, rows);                                     \
  }

#define DEFINE_ADDING(rows)                                                \
  DEFINE_PRODUCTS(executorch_f32_gemm_adding_##rows##x32_avx512,           \
                  executorch_f32_igemm_adding_##rows##x32_avx512, rows, 1, \
                  ((const struct executorch_adding*)limits)->added)

DEFINE(4)
DEFINE(7)
DEFINE(8)
DEFINE_ADDING(1)
DEFINE_ADDING(4)
DEFINE_ADDING(7)
DEFINE_ADDING(8)
