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
  const float* first;  // of one part, with `stride` bytes from row to row; or else
  size_t stride;
  const float** table;  // `each` pointers for a part
  size_t each, parts, offset;
  const float* zero;
  size_t kc, count;
  int fetches;  // whether weights are asked for ahead
};

static inline const float* moved(const float* pointer, size_t bytes) {
  return (const float*)((uintptr_t)pointer + bytes);
}

// Row `row` of a part; rows that are not there repeat the last one.
INLINE const float* row_of(const struct rows_of_a* a, size_t part, size_t row) {
  if (a->table == NULL) {
    return moved(a->first, (row < a->count ? row : a->count - 1) * a->stride);
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
static inline int are_new(const float* w, size_t k) {
  static __thread const float* last;
  const int differ = w != last;
  last = w;
  return differ && k * COLUMNS * sizeof(float) >= 2 * AHEAD;
}

// A panel of columns: all of them, or only the first half.
INLINE void panel(const struct rows_of_a* a, const float* w, float* c, size_t cm_stride, size_t nc,
                  const float* limits, const size_t rows, const size_t halves) {
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
  const __m512 least = _mm512_set1_ps(limits[0]), most = _mm512_set1_ps(limits[1]);
  const uint32_t columns = nc < COLUMNS ? (UINT32_C(1) << nc) - 1 : UINT32_MAX;
#pragma GCC unroll 8
  for (size_t r = 0; r < rows; ++r) {
    if (r < a->count) {  // NaN stays
      float* const to = (float*)((uintptr_t)c + r * cm_stride);
      low[r] = _mm512_min_ps(most, _mm512_max_ps(least, low[r]));
      _mm512_mask_storeu_ps(to, (__mmask16)columns, low[r]);
      if (halves == 2) {
        high[r] = _mm512_min_ps(most, _mm512_max_ps(least, high[r]));
        _mm512_mask_storeu_ps(to + HALF, (__mmask16)(columns >> HALF), high[r]);
      }
    }
  }
}

INLINE void tile(const struct rows_of_a* a, size_t nc, const float* w, float* c, size_t cm_stride,
                 size_t cn_stride, const float* limits, const size_t rows) {
  const size_t bytes = (1 + a->parts * a->kc) * COLUMNS * sizeof(float);
  for (; nc > HALF; nc -= COLUMNS) {
    panel(a, w, c, cm_stride, nc, limits, rows, 2);
    if (nc <= COLUMNS) return;
    w = moved(w, bytes);
    c = (float*)((uintptr_t)c + cn_stride);
  }
  panel(a, w, c, cm_stride, nc, limits, rows, 1);
}

INLINE void product(const struct rows_of_a* a, size_t nc, const float* w, float* c,
                    size_t cm_stride, size_t cn_stride, const float* limits, const size_t rows) {
  if (rows == FEW_ROWS || a->count > FEW_ROWS) {
    tile(a, nc, w, c, cm_stride, cn_stride, limits, rows);
  } else {
    tile(a, nc, w, c, cm_stride, cn_stride, limits, FEW_ROWS);
  }
}

// How many parts of every row lie one behind the other, again and again; 1 where they do not.
INLINE size_t run_of(const struct rows_of_a* a, const size_t rows) {
  const __mmask8 all = (__mmask8)((1u << rows) - 1);
  const __m512i bytes = _mm512_set1_epi64((long long)(a->kc * sizeof(float)));
  const __m512i zero = _mm512_set1_epi64((long long)(uintptr_t)a->zero);
  size_t run = a->parts;
  __m512i expected = _mm512_setzero_si512();
  for (size_t part = 0; part < a->parts; ++part) {
    const __m512i found = _mm512_maskz_loadu_epi64(all, a->table + part * rows);
    if (_mm512_mask_cmpeq_epi64_mask(all, found, zero) != 0) return 1;
    if (part != 0 && _mm512_mask_cmpneq_epi64_mask(all, found, expected) != 0) {
      if (run == a->parts) run = part;
      if (part % run != 0) return 1;
    }
    expected = _mm512_add_epi64(found, bytes);
  }
  return a->parts % run == 0 ? run : 1;
}

// Of parts that are larger it does not matter how many there are; the colours of pixels are few.
#define SMALL_PART 8

#define DEFINE(rows)                                                          \
  AVX512 EXECUTORCH_GEMM(executorch_f32_gemm_##rows##x32_avx512) {            \
    const struct rows_of_a all = {.first = a,                                 \
                                  .stride = a_stride,                         \
                                  .parts = 1,                                 \
                                  .kc = kc / sizeof(float),                   \
                                  .count = mr,                                \
                                  .fetches = are_new(w, kc / sizeof(float))}; \
    product(&all, nc, w, c, cm_stride, cn_stride, limits, rows);              \
  }                                                                           \
  AVX512 EXECUTORCH_IGEMM(executorch_f32_igemm_##rows##x32_avx512) {          \
    struct rows_of_a all = {.table = a,                                       \
                            .each = rows,                                     \
                            .parts = ks / (rows * sizeof(void*)),             \
                            .offset = a_offset,                               \
                            .zero = zero,                                     \
                            .kc = kc / sizeof(float),                         \
                            .count = mr};                                     \
    all.fetches = are_new(w, all.parts * all.kc);                             \
    if (all.kc <= SMALL_PART) {                                               \
      const size_t run = run_of(&all, rows);                                  \
      all.each *= run;                                                        \
      all.parts /= run;                                                       \
      all.kc *= run;                                                          \
    }                                                                         \
    product(&all, nc, w, c, cm_stride, cn_stride, limits, rows);              \
  }

DEFINE(4)
DEFINE(7)
DEFINE(8)
