// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The tiles of product_10x32_avx512.c: some rows of A times a panel of 32 columns, or two.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_ROWS 10
#define MOST_ROWS_OF_PAIR 6
#define COLUMNS 32
#define HALF 16
#define MOST_HALVES 4

#define AVX512 __attribute__((target("avx512f,prfchw")))
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
};

// Where sums of one panel of columns or two come from and go to.
struct columns_of_c {
  const float *bias[2], *weights[2];
  float* c;
  size_t row, panel;  // bytes from one to the next
  size_t count;
  int begins, ends;  // the first part of K, the last
  const float* limits;
  int adds;
  ptrdiff_t added;  // bytes from a result to what is added to it before the limits
};

// Weights come from the last cache or from memory once, and stay in the second for all rows that
// they are multiplied with. The processor alone asks too late for them, and the first rows would
// wait for them all: so each tile asks for a part of those that come next.
struct fetching {
  const char *at[2], *end;  // of the first
  size_t lines;             // of each, for STEP elements along K
};

#define STEP 4
#define LINE 64

static inline const float* moved(const float* pointer, size_t bytes) {
  return (const float*)((uintptr_t)pointer + bytes);
}

// Row `row` of a part; rows that are not there repeat the last one.
INLINE const float* row_of(const struct rows_of_a* a, size_t part, size_t row) {
  const size_t there = row < a->count ? row : a->count - 1;
  if (a->table == NULL) {
    return moved(a->first, part * a->part_stride + there * a->stride);
  }
  const float* const pointer = a->table[part * a->each + there];
  return pointer == a->zero ? pointer : moved(pointer, a->offset);
}

// The columns that half `half` of the panels has.
INLINE __mmask16 mask_of(const struct columns_of_c* to, size_t half) {
  const size_t before = half * HALF;
  const size_t left = to->count > before ? to->count - before : 0;
  return (__mmask16)(left < HALF ? (1u << left) - 1 : 0xffff);
}

INLINE float* place_of(const struct columns_of_c* to, size_t row, size_t half) {
  return (float*)((uintptr_t)to->c + row * to->row + half / 2 * to->panel) + half % 2 * HALF;
}

// Asks for what the results are added to and for their places, before there are any.
INLINE void ask_for_results(const struct columns_of_c* to, const size_t rows, const size_t halves) {
#pragma GCC unroll 10
  for (size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < halves; ++half) {
      const char* const place = (const char*)place_of(to, r, half);
      if (to->adds) _mm_prefetch(place + to->added, _MM_HINT_T0);
      __builtin_prefetch(place, 1, 3);
    }
  }
}

INLINE void begin(const struct rows_of_a* a, const struct columns_of_c* to,
                  __m512 (*sums)[MOST_HALVES], const size_t rows, const size_t halves) {
#pragma GCC unroll 4
  for (size_t half = 0; half < halves; ++half) {
    if (to->begins) {
      const __m512 bias = _mm512_load_ps(to->bias[half / 2] + half % 2 * HALF);
#pragma GCC unroll 10
      for (size_t r = 0; r < rows; ++r) {
        sums[r][half] = bias;
      }
    } else {
      const __mmask16 mask = mask_of(to, half);
#pragma GCC unroll 10
      for (size_t r = 0; r < rows; ++r) {
        const size_t row = r < a->count ? r : 0;
        sums[r][half] = _mm512_maskz_loadu_ps(mask, place_of(to, row, half));
      }
    }
  }
}

// The flags are constants where this is expanded, but for those of the rare tiles that are not
// whole.
INLINE void store(const struct rows_of_a* a, const struct columns_of_c* to,
                  __m512 (*sums)[MOST_HALVES], const size_t rows, const size_t halves,
                  const int is_whole, const int ends, const int adds) {
  const __m512 least = _mm512_set1_ps(to->limits[0]), most = _mm512_set1_ps(to->limits[1]);
#pragma GCC unroll 4
  for (size_t half = 0; half < halves; ++half) {
    const __mmask16 mask = is_whole ? 0xffff : mask_of(to, half);
#pragma GCC unroll 10
    for (size_t r = 0; r < rows; ++r) {
      if (!is_whole && r >= a->count) break;
      float* const place = place_of(to, r, half);
      __m512 sum = sums[r][half];
      if (ends) {  // NaN stays
        if (adds) {
          const float* const added = (const float*)((uintptr_t)place + (uintptr_t)to->added);
          const __m512 term =
              is_whole ? _mm512_loadu_ps(added) : _mm512_maskz_loadu_ps(mask, added);
          sum = _mm512_add_ps(sum, term);
        }
        sum = _mm512_min_ps(most, _mm512_max_ps(least, sum));
      }
      if (is_whole) {
        _mm512_storeu_ps(place, sum);
      } else {
        _mm512_mask_storeu_ps(place, mask, sum);
      }
    }
  }
}

INLINE void end(const struct rows_of_a* a, const struct columns_of_c* to,
                __m512 (*sums)[MOST_HALVES], const size_t rows, const size_t halves) {
  if (a->count < rows || to->count < halves * HALF) {
    store(a, to, sums, rows, halves, 0, to->ends, to->adds);
  } else if (!to->ends) {
    store(a, to, sums, rows, halves, 1, 0, 0);
  } else if (to->adds) {
    store(a, to, sums, rows, halves, 1, 1, 1);
  } else {
    store(a, to, sums, rows, halves, 1, 1, 0);
  }
}

// Adds the products of element `at` of each row and one row of W.
#define TIMES(at, above)                                                                 \
  {                                                                                      \
    __m512 weights[MOST_HALVES];                                                         \
    _Pragma("GCC unroll 4") for (size_t half = 0; half < halves; ++half) {               \
      weights[half] = _mm512_load_ps(w[half / 2] + (above) * COLUMNS + half % 2 * HALF); \
    }                                                                                    \
    _Pragma("GCC unroll 10") for (size_t r = 0; r < rows; ++r) {                         \
      const __m512 element = _mm512_set1_ps(row[r][at]);                                 \
      _Pragma("GCC unroll 4") for (size_t half = 0; half < halves; ++half) {             \
        sums[r][half] = _mm512_fmadd_ps(element, weights[half], sums[r][half]);          \
      }                                                                                  \
    }                                                                                    \
  }

// Asks for some lines. Where it is stays in memory: the rows of a tile need all registers. It is
// written once for all lines, since each would wait until the one before can be read again.
INLINE void fetch(struct fetching* fetching) {
  const char *first = fetching->at[0], *second = fetching->at[1];
  const char* const end = first + fetching->lines * LINE;
  for (; first != end; first += LINE, second += LINE) {
    _mm_prefetch(first, _MM_HINT_T1);
    _mm_prefetch(second, _MM_HINT_T1);
  }
  fetching->at[0] = first;
  fetching->at[1] = second;
  __asm__ volatile("" ::: "memory");
}

// Some rows of a panel of columns or of two, of which the last may be only the first half.
INLINE void tile(const struct rows_of_a* a, struct fetching* fetching,
                 const struct columns_of_c* to, const size_t rows, const size_t halves) {
  __m512 sums[MOST_ROWS][MOST_HALVES];
  if (to->ends) ask_for_results(to, rows, halves);
  begin(a, to, sums, rows, halves);
  const float* w[2] = {to->weights[0], to->weights[1]};
  const int fetches = fetching->at[0] < fetching->end;
  for (size_t part = 0; part < a->parts; ++part) {
    const float* row[MOST_ROWS];
#pragma GCC unroll 10
    for (size_t r = 0; r < rows; ++r) {
      row[r] = row_of(a, part, r);
    }
    size_t k = 0;
    for (; k + STEP <= a->kc; k += STEP) {
      if (fetches) fetch(fetching);
      TIMES(k, 0)
      TIMES(k + 1, 1)
      TIMES(k + 2, 2)
      TIMES(k + 3, 3)
      w[0] += STEP * COLUMNS;
      if (halves > 2) w[1] += STEP * COLUMNS;
    }
    for (; k < a->kc; ++k) {
      TIMES(k, 0)
      w[0] += COLUMNS;
      if (halves > 2) w[1] += COLUMNS;
    }
  }
  end(a, to, sums, rows, halves);
}

typedef void (*tile_function)(const struct rows_of_a*, struct fetching*,
                              const struct columns_of_c*);

#define DEFINE_TILE(rows, halves)                                                          \
  AVX512 static void tile_##rows##x##halves(const struct rows_of_a* a, struct fetching* f, \
                                            const struct columns_of_c* to) {               \
    tile(a, f, to, rows, halves);                                                          \
  }
#define DEFINE_TILES(rows) DEFINE_TILE(rows, 1) DEFINE_TILE(rows, 2)
#define DEFINE_PAIRS(rows) DEFINE_TILE(rows, 3) DEFINE_TILE(rows, 4)
DEFINE_TILES(1)
DEFINE_TILES(2)
DEFINE_TILES(4)
DEFINE_TILES(6)
DEFINE_TILES(8)
DEFINE_TILES(10)
DEFINE_PAIRS(1)
DEFINE_PAIRS(2)
DEFINE_PAIRS(3)
DEFINE_PAIRS(4)
DEFINE_PAIRS(5)
DEFINE_PAIRS(6)

// For so many rows, less one, and the next halves.
#define ALL_TILES(h)                                            \
  {tile_1x##h, tile_2x##h, tile_4x##h, tile_4x##h,  tile_6x##h, \
   tile_6x##h, tile_8x##h, tile_8x##h, tile_10x##h, tile_10x##h}
#define ALL_PAIRS(h) {tile_1x##h, tile_2x##h, tile_3x##h, tile_4x##h, tile_5x##h, tile_6x##h}
static const tile_function kTiles[MOST_HALVES][MOST_ROWS] = {ALL_TILES(1), ALL_TILES(2),
                                                             ALL_PAIRS(3), ALL_PAIRS(4)};
