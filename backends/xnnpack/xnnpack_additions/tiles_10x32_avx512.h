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
  size_t row;  // bytes from one to the next
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

// A tile, known where code is expanded for it. If the last half has eight columns only, two rows
// share it: sums of both are in the first one's vector.
struct shape {
  size_t rows, halves;
  int shares;
};

INLINE int is_shared(const struct shape shape, size_t half) {
  return shape.shares && half + 1 == shape.halves;
}

// The rows of a part; those that are not there repeat the last one.
INLINE void find_rows(const struct rows_of_a* a, size_t part, const float** row,
                      const struct shape shape) {
  if (a->table == NULL) {
    const float* at = moved(a->first, part * a->part_stride);
#pragma GCC unroll 10
    for (size_t r = 0; r < shape.rows; ++r) {
      row[r] = at;
      at = moved(at, r + 1 < a->count ? a->stride : 0);
    }
    return;
  }
  const float** const table = a->table + part * a->each;
#pragma GCC unroll 10
  for (size_t r = 0; r < shape.rows; ++r) {
    const float* const pointer = table[r < a->count ? r : a->count - 1];
    row[r] = pointer == a->zero ? pointer : moved(pointer, a->offset);
  }
}

// The columns that half `half` of the panels has.
INLINE __mmask16 mask_of(const struct columns_of_c* to, size_t half) {
  const size_t before = half * HALF;
  const size_t left = to->count > before ? to->count - before : 0;
  return (__mmask16)(left < HALF ? (1u << left) - 1 : 0xffff);
}

INLINE float* place_of(const struct columns_of_c* to, size_t row, size_t half) {
  return (float*)((uintptr_t)to->c + row * to->row) + half * HALF;
}

// Asks for the lines of a tile that begin at `place`, to write or to read them. Compilers would
// find all addresses first, which are more than there are registers.
INLINE void ask_for(const char* place, size_t row, const struct shape shape, const int to_write) {
#pragma GCC unroll 10
  for (size_t r = 0; r < shape.rows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < shape.halves; ++half) {
      __builtin_prefetch(place + half * LINE, to_write, 3);
    }
    place += row;
    __asm__("" : "+r"(place));
  }
}

// The first eight lanes of both.
INLINE __m512 shared_by(__m512 first, __m512 second) {
  const __m256d high = _mm256_castps_pd(_mm512_castps512_ps256(second));
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(first), high, 1));
}

INLINE __m512 second_of(__m512 shared) {
  const __m256d high = _mm512_extractf64x4_pd(_mm512_castps_pd(shared), 1);
  return _mm512_castpd_ps(_mm512_castpd256_pd512(high));
}

INLINE void begin(const struct rows_of_a* a, const struct columns_of_c* to,
                  __m512 (*sums)[MOST_HALVES], const struct shape shape) {
#pragma GCC unroll 4
  for (size_t half = 0; half < shape.halves; ++half) {
    if (to->begins) {
      const __m512 bias = _mm512_load_ps(to->bias[half / 2] + half % 2 * HALF);
#pragma GCC unroll 10
      for (size_t r = 0; r < shape.rows; ++r) {
        sums[r][half] = bias;
      }
    } else {
      const __mmask16 mask = mask_of(to, half);
#pragma GCC unroll 10
      for (size_t r = 0; r < shape.rows; ++r) {
        const size_t row = r < a->count ? r : 0;
        sums[r][half] = _mm512_maskz_loadu_ps(mask, place_of(to, row, half));
      }
    }
  }
  if (!shape.shares) return;
#pragma GCC unroll 5
  for (size_t r = 0; r < shape.rows; r += 2) {
    __m512* const shared = &sums[r][shape.halves - 1];
    *shared = shared_by(*shared, sums[r + 1][shape.halves - 1]);
  }
}

struct limits {
  __m512 least, most;
};

INLINE struct limits limits_of(const struct columns_of_c* to) {
  return (struct limits){_mm512_set1_ps(to->limits[0]), _mm512_set1_ps(to->limits[1])};
}

INLINE __m512 limited(struct limits limits, __m512 sum) {  // NaN stays
  return _mm512_min_ps(limits.most, _mm512_max_ps(limits.least, sum));
}

// The sums of a row's columns, `half` of them.
INLINE __m512 sums_of(__m512 (*sums)[MOST_HALVES], const struct shape shape, size_t row,
                      size_t half) {
  const int is_second = is_shared(shape, half) && row % 2 == 1;
  return is_second ? second_of(sums[row - 1][half]) : sums[row][half];
}

// Of a tile that is not whole, what is there.
AVX512 __attribute__((noinline)) static void store_part(size_t rows, const struct columns_of_c* to,
                                                        __m512 (*sums)[MOST_HALVES]) {
  const struct limits limits = limits_of(to);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t half = 0; half * HALF < to->count; ++half) {
      const __mmask16 mask = mask_of(to, half);
      float* const place = place_of(to, r, half);
      __m512 sum = sums[r][half];
      if (to->ends && to->adds) {
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, moved(place, (size_t)to->added)));
      }
      if (to->ends) sum = limited(limits, sum);
      if (mask == 0xffff) {  // a mask makes a store several times as long
        _mm512_storeu_ps(place, sum);
      } else {
        _mm512_mask_storeu_ps(place, mask, sum);
      }
    }
  }
}

// The flags are constants where this is expanded. What it is told is read before the first result
// is written, which could be any of it.
INLINE void store(const struct columns_of_c* to, __m512 (*sums)[MOST_HALVES],
                  const struct shape shape, const int ends, const int adds) {
  const struct limits limits = limits_of(to);
  const size_t row = to->row, from_added = (size_t)to->added;
  float* first = to->c;
#pragma GCC unroll 10
  for (size_t r = 0; r < shape.rows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < shape.halves; ++half) {
      float* const place = first + half * HALF;
      const float* const added = moved(place, from_added);
      __m512 sum = sums_of(sums, shape, r, half);
      if (is_shared(shape, half)) {
        if (adds) sum = _mm512_add_ps(sum, _mm512_castps256_ps512(_mm256_loadu_ps(added)));
        if (ends) sum = limited(limits, sum);
        _mm256_storeu_ps(place, _mm512_castps512_ps256(sum));
      } else {
        if (adds) sum = _mm512_add_ps(sum, _mm512_loadu_ps(added));
        if (ends) sum = limited(limits, sum);
        _mm512_storeu_ps(place, sum);
      }
    }
    first = (float*)((uintptr_t)first + row);
  }
}

INLINE void end(const struct rows_of_a* a, const struct columns_of_c* to,
                __m512 (*sums)[MOST_HALVES], const struct shape shape) {
  const size_t columns = shape.halves * HALF - (shape.shares ? HALF / 2 : 0);
  if (a->count < shape.rows || to->count < columns) {
    __m512 kept[MOST_ROWS][MOST_HALVES];  // those of whole tiles stay in registers
#pragma GCC unroll 10
    for (size_t r = 0; r < shape.rows; ++r) {
#pragma GCC unroll 4
      for (size_t half = 0; half < shape.halves; ++half) {
        kept[r][half] = sums_of(sums, shape, r, half);
      }
    }
    store_part(a->count, to, kept);
  } else if (!to->ends) {
    store(to, sums, shape, 0, 0);
  } else if (to->adds) {
    store(to, sums, shape, 1, 1);
  } else {
    store(to, sums, shape, 1, 0);
  }
}

// Adds the products of element `at` of each row and one row of W.
INLINE void multiply(const float** row, size_t at, const float** w, size_t row_of_w,
                     __m512 (*sums)[MOST_HALVES], const struct shape shape) {
  __m512 weights[MOST_HALVES], before = _mm512_setzero_ps();
#pragma GCC unroll 4
  for (size_t half = 0; half < shape.halves; ++half) {
    const float* const from = w[half / 2] + row_of_w * COLUMNS + half % 2 * HALF;
    weights[half] = is_shared(shape, half)
                        ? _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_load_pd((double*)from)))
                        : _mm512_load_ps(from);
  }
#pragma GCC unroll 10
  for (size_t r = 0; r < shape.rows; ++r) {
    const __m512 element = _mm512_set1_ps(row[r][at]);
#pragma GCC unroll 4
    for (size_t half = 0; half < shape.halves; ++half) {
      if (!is_shared(shape, half)) {
        sums[r][half] = _mm512_fmadd_ps(element, weights[half], sums[r][half]);
      } else if (r % 2 == 1) {
        const __m512 both = _mm512_mask_mov_ps(before, 0xff00, element);
        sums[r - 1][half] = _mm512_fmadd_ps(both, weights[half], sums[r - 1][half]);
      }
    }
    before = element;
  }
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
                 const struct columns_of_c* to, const struct shape shape) {
  __m512 sums[MOST_ROWS][MOST_HALVES];
  if (to->ends) {  // before there are results
    ask_for((const char*)to->c, to->row, shape, 1);
    if (to->adds) ask_for((const char*)to->c + to->added, to->row, shape, 0);
  }
  begin(a, to, sums, shape);
  const float* w[2] = {to->weights[0], to->weights[1]};
  const int fetches = fetching->at[0] < fetching->end;
  for (size_t part = 0; part < a->parts; ++part) {
    const float* row[MOST_ROWS];
    find_rows(a, part, row, shape);
    size_t k = 0;
    for (; k + STEP <= a->kc; k += STEP) {
      if (fetches) fetch(fetching);
      multiply(row, k, w, 0, sums, shape);
      multiply(row, k + 1, w, 1, sums, shape);
      multiply(row, k + 2, w, 2, sums, shape);
      multiply(row, k + 3, w, 3, sums, shape);
      w[0] += STEP * COLUMNS;
      if (shape.halves > 2) w[1] += STEP * COLUMNS;
    }
    for (; k < a->kc; ++k) {
      multiply(row, k, w, 0, sums, shape);
      w[0] += COLUMNS;
      if (shape.halves > 2) w[1] += COLUMNS;
    }
  }
  end(a, to, sums, shape);
}

typedef void (*tile_function)(const struct rows_of_a*, struct fetching*,
                              const struct columns_of_c*);

#define DEFINE_TILE(rows, halves, suffix, shares)                                                  \
  AVX512 static void tile_##rows##x##halves##suffix(const struct rows_of_a* a, struct fetching* f, \
                                                    const struct columns_of_c* to) {               \
    tile(a, f, to, (struct shape){rows, halves, shares});                                          \
  }
#define DEFINE_TILES(rows, suffix, shares) \
  DEFINE_TILE(rows, 1, suffix, shares) DEFINE_TILE(rows, 2, suffix, shares)
#define DEFINE_PAIRS(rows, suffix, shares) \
  DEFINE_TILE(rows, 3, suffix, shares) DEFINE_TILE(rows, 4, suffix, shares)
DEFINE_TILES(1, , 0)
DEFINE_TILES(2, , 0)
DEFINE_TILES(4, , 0)
DEFINE_TILES(6, , 0)
DEFINE_TILES(8, , 0)
DEFINE_TILES(10, , 0)
DEFINE_PAIRS(1, , 0)
DEFINE_PAIRS(2, , 0)
DEFINE_PAIRS(3, , 0)
DEFINE_PAIRS(4, , 0)
DEFINE_PAIRS(5, , 0)
DEFINE_PAIRS(6, , 0)
DEFINE_TILES(2, s, 1)
DEFINE_TILES(4, s, 1)
DEFINE_TILES(6, s, 1)
DEFINE_TILES(8, s, 1)
DEFINE_TILES(10, s, 1)
DEFINE_PAIRS(2, s, 1)
DEFINE_PAIRS(4, s, 1)
DEFINE_PAIRS(6, s, 1)

// For so many rows, less one, and the next halves. A row alone shares nothing, and pairs of panels
// have odd numbers of rows where rows do not share.
#define ALL_TILES(h, s)                                                        \
  {tile_1x##h,    tile_2x##h##s, tile_4x##h##s, tile_4x##h##s,  tile_6x##h##s, \
   tile_6x##h##s, tile_8x##h##s, tile_8x##h##s, tile_10x##h##s, tile_10x##h##s}
#define ALL_PAIRS(h) {tile_1x##h, tile_2x##h, tile_3x##h, tile_4x##h, tile_5x##h, tile_6x##h}
#define SHARED_PAIRS(h) \
  {tile_1x##h, tile_2x##h##s, tile_4x##h##s, tile_4x##h##s, tile_6x##h##s, tile_6x##h##s}
static const tile_function kTiles[MOST_HALVES][MOST_ROWS] = {ALL_TILES(1, ), ALL_TILES(2, ),
                                                             ALL_PAIRS(3), ALL_PAIRS(4)};
// Where the last half has eight columns.
static const tile_function kSharedTiles[MOST_HALVES][MOST_ROWS] = {
    ALL_TILES(1, s), ALL_TILES(2, s), SHARED_PAIRS(3), SHARED_PAIRS(4)};
