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
  int are_few;  // weights that are in cache soon
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

// Weights come from the last cache or from memory once, and stay in the second for all rows that
// they are multiplied with. The processor alone asks too late for them, and the first rows would
// wait for them all: so each tile asks for a part of those that the columns behind its own need. Of
// how many tiles they will be the weights, the columns before tell.
struct fetching {
  const char* at;
  size_t lines;  // for each STEP elements along K
};

#define STEP 4
#define LINE 64
#define LINES_OF_STEP (STEP * COLUMNS * sizeof(float) / LINE)
// How far ahead the first tile asks for its own, if no tile before it has. In shorter panels what
// lies so far ahead is of no use.
#define AHEAD 8192
// Two such fit the second cache, with what else is read.
#define MOST_AT_ONCE ((size_t)640 << 10)

// bytes: of the weights of a tile; steps: how many of K's there are in it.
static inline struct fetching what_to_fetch(const float* w, size_t bytes, size_t steps) {
  static __thread struct {
    const float* weights;
    size_t tiles, tiles_before;
    const char* fetched;  // the weights up to here were asked for by other tiles
  } last;
  const struct fetching nothing = {NULL, 0};
  const int are_new = last.weights != w;
  if (are_new) {
    last.weights = w;
    last.tiles_before = last.tiles;
    last.tiles = 0;
  }
  const size_t tile = last.tiles++;
  if (bytes < 2 * AHEAD || steps == 0) return nothing;
  const char* const next = (const char*)w + bytes;
  if (are_new && last.fetched != next) {
    const struct fetching own = {(const char*)w + AHEAD, LINES_OF_STEP};
    return own;
  }
  if (last.tiles_before < 2 || bytes > MOST_AT_ONCE) return nothing;
  const size_t lines = (LINES_OF_STEP + last.tiles_before - 1) / last.tiles_before;
  const size_t begin = tile * steps * lines * LINE;
  if (begin >= bytes) return nothing;
  last.fetched = next + bytes;
  const struct fetching part = {next + begin, lines};
  return part;
}

// A panel of columns: all of them, or only the first half.
INLINE void panel(const struct rows_of_a* a, struct fetching* fetching, const float* w, float* c,
                  size_t cm_stride, size_t nc, const struct ending* end, const size_t rows,
                  const size_t halves) {
  __m512 low[MOST_ROWS], high[MOST_ROWS];
  const __m512 bias0 = _mm512_load_ps(w), bias1 = _mm512_load_ps(w + HALF);
#pragma GCC unroll 8
  for (size_t r = 0; r < rows; ++r) {
    low[r] = bias0;
    high[r] = bias1;
  }
  w += COLUMNS;
  const char* fetched = fetching->at;
  const size_t lines = fetching->lines;
  for (size_t part = 0; part < a->parts; ++part) {
    const float* row[MOST_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; ++r) {
      row[r] = row_of(a, part, r);
    }
    size_t k = 0;
    for (; k + STEP <= a->kc; k += STEP) {
      for (size_t line = 0; line < lines; ++line, fetched += LINE) {
        _mm_prefetch(fetched, _MM_HINT_T1);
      }
      TIMES(k, w)
      TIMES(k + 1, w + COLUMNS)
      TIMES(k + 2, w + 2 * COLUMNS)
      TIMES(k + 3, w + 3 * COLUMNS)
      w += STEP * COLUMNS;
    }
    for (; k < a->kc; ++k) {
      TIMES(k, w)
      w += COLUMNS;
    }
  }
  fetching->at = fetched;
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
  const size_t panels = (nc + COLUMNS - 1) / COLUMNS;
  struct fetching fetching = {NULL, 0};
  if (!a->are_few) {
    fetching = what_to_fetch(w, panels * bytes, panels * a->parts * (a->kc / STEP));
  }
  for (; nc > HALF; nc -= COLUMNS) {
    panel(a, &fetching, w, c, cm_stride, nc, end, rows, 2);
    if (nc <= COLUMNS) return;
    w = moved(w, bytes);
    c = (float*)((uintptr_t)c + cn_stride);
  }
  panel(a, &fetching, w, c, cm_stride, nc, end, rows, 1);
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
#define DEFINE_PRODUCTS(gemm, igemm, rows, does_add, distance)                              \
  AVX512 EXECUTORCH_GEMM(gemm) {                                                            \
    const struct rows_of_a all = {                                                          \
        .first = a, .stride = a_stride, .parts = 1, .kc = kc / sizeof(float), .count = mr}; \
    const struct ending end = {.limits = limits, .adds = does_add, .added = distance};      \
    product(&all, nc, w, c, cm_stride, cn_stride, &end, rows);                              \
  }                                                                                         \
  AVX512 EXECUTORCH_IGEMM(igemm) {                                                          \
    const size_t parts = ks / (rows * sizeof(void*));                                       \
    const struct rows_of_a all = {.table = a,                                               \
                                  .each = rows,                                             \
                                  .parts = parts,                                           \
                                  .offset = a_offset,                                       \
                                  .zero = zero,                                             \
                                  .kc = kc / sizeof(float),                                 \
                                  .count = mr};                                             \
    const struct ending end = {.limits = limits, .adds = does_add, .added = distance};      \
    product(&all, nc, w, c, cm_stride, cn_stride, &end, rows);                              \
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
                                  .are_few = 1};                                                   \
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
