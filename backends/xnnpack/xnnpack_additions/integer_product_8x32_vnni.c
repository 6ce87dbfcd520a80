// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "integer_product_8x32_vnni.h"

#include <immintrin.h>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE VNNI static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define ROWS 8
#define COLUMNS 32
#define HALF 16
#define LINE 64
// How much of A's rows is moved at once: 3 x 3 points of 512 channels are one time.
#define MOST_AT_ONCE 4608
#define ROW_BYTES (MOST_AT_ONCE + LINE)

// What of A is moved by 128, so that it has no sign; each part is as many whole fours of bytes.
struct moved {
  __attribute__((aligned(LINE))) uint8_t rows[ROWS * ROW_BYTES];
  size_t length;  // of all parts together if they fit, else 0
};

// Where moving goes on.
struct place {
  size_t part, k;
};

static inline size_t fours(size_t length) { return (length + 3) / 4 * 4; }

// What is written behind `count` bytes is overwritten by what follows, or is not read but with
// weights of 0.
INLINE void move(const int8_t* from, size_t count, uint8_t* to) {
  const __m512i sign = _mm512_set1_epi8((char)0x80);
  size_t k = 0;
  for (; k + LINE <= count; k += LINE) {
    _mm512_storeu_si512(to + k, _mm512_xor_si512(_mm512_loadu_si512(from + k), sign));
  }
  if (count - k > HALF) {
    const __mmask64 left = (UINT64_C(1) << (count - k)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(left, from + k);
    _mm512_storeu_si512(to + k, _mm512_xor_si512(bytes, sign));
  } else if (k < count) {
    const __mmask16 left = (__mmask16)((1u << (count - k)) - 1);
    const __m128i bytes = _mm_maskz_loadu_epi8(left, from + k);
    _mm_storeu_si128((__m128i*)(to + k), _mm_xor_si128(bytes, _mm512_castsi512_si128(sign)));
  }
}

// Moves as many parts, or as much of one part, as there is room for; gives the number of bytes.
VNNI static __attribute__((noinline)) size_t move_next(const struct rows_of_a* a,
                                                       struct place* place, struct moved* to) {
  size_t filled = 0;
  while (place->part < a->parts && filled < MOST_AT_ONCE) {
    const size_t left = a->kc - place->k, room = MOST_AT_ONCE - filled;
    const size_t taken = left < room ? left : room;
    for (size_t row = 0; row < a->count; ++row) {
      move(executorch_row_of(a, place->part, row) + place->k, taken,
           to->rows + row * ROW_BYTES + filled);
    }
    filled += fours(taken);
    place->k += taken;
    if (place->k == a->kc) {
      place->k = 0;
      ++place->part;
    }
  }
  return filled;
}

// A panel of 32 columns, or of the first 16 of them, with `rows` rows. Where rows are few, each sum
// is in `chains` parts: one part alone would wait for itself.
struct sums {
  __m512i of[4][ROWS][2];
};

INLINE void times(struct sums* sums, size_t chain, const uint8_t* a, const int8_t* w, size_t rows,
                  size_t halves) {
  const __m512i w0 = _mm512_loadu_si512(w);
  const __m512i w1 = halves == 2 ? _mm512_loadu_si512(w + LINE) : w0;
  UNROLL for (size_t r = 0; r < rows; ++r) {
    const __m512i four = _mm512_set1_epi32(*(const int32_t*)(a + r * ROW_BYTES));
    __m512i* const sum = sums->of[chain][r];
    sum[0] = _mm512_dpbusd_epi32(sum[0], four, w0);
    if (halves == 2) sum[1] = _mm512_dpbusd_epi32(sum[1], four, w1);
  }
}

// Adds the products with all of A; gives what follows in W.
INLINE const int8_t* add_products(struct sums* sums, const struct rows_of_a* a, struct moved* as,
                                  const int8_t* w, size_t rows, size_t halves, size_t chains) {
  struct place place = {0, 0};
  int more = 1;
  while (more) {
    size_t left = as->length;
    more = 0;
    if (left == 0) {
      left = move_next(a, &place, as);
      more = place.part < a->parts;
      if (!more && a->parts * fours(a->kc) <= MOST_AT_ONCE) as->length = left;
    }
    const uint8_t* from = as->rows;
    for (; left >= 16; left -= 16) {
      UNROLL for (size_t step = 0; step < 4; ++step) {
        times(sums, step % chains, from + 4 * step, w + 4 * step * COLUMNS, rows, halves);
      }
      from += 16;
      w += 16 * COLUMNS;
    }
    for (; left > 0; left -= 4) {
      times(sums, 0, from, w, rows, halves);
      from += 4;
      w += 4 * COLUMNS;
    }
  }
  UNROLL for (size_t chain = 1; chain < chains; ++chain) {
    UNROLL for (size_t r = 0; r < rows; ++r) {
      UNROLL for (size_t half = 0; half < halves; ++half) {
        sums->of[0][r][half] = _mm512_add_epi32(sums->of[0][r][half], sums->of[chain][r][half]);
      }
    }
  }
  return w;
}

INLINE void begin(struct sums* sums, size_t rows, size_t halves, size_t chains) {
  UNROLL for (size_t chain = 0; chain < chains; ++chain) {
    UNROLL for (size_t r = 0; r < rows; ++r) {
      UNROLL for (size_t half = 0; half < halves; ++half) {
        sums->of[chain][r][half] = _mm512_setzero_si512();
      }
    }
  }
}

INLINE __mmask32 columns_left(size_t nc) {
  return nc < COLUMNS ? (__mmask32)((UINT32_C(1) << nc) - 1) : (__mmask32)UINT32_MAX;
}

INLINE const int8_t* panel_of_numbers(const struct rows_of_a* a, struct moved* as, const int8_t* w,
                                      size_t nc, float* c, size_t cm_stride,
                                      const struct executorch_numbers how, size_t rows,
                                      size_t halves, size_t chains) {
  struct sums sums;
  begin(&sums, rows, halves, chains);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    const size_t row = r < a->count ? r : a->count - 1;
    const __m512i zero = _mm512_set1_epi32(how.quantization[row * how.step].zero_point + 128);
    UNROLL for (size_t half = 0; half < halves; ++half) {
      const __m512i first = _mm512_loadu_si512(w + half * LINE);
      sums.of[0][r][half] = _mm512_mullo_epi32(first, zero);
    }
  }
  w = add_products(&sums, a, as, w + 4 * COLUMNS, rows, halves, chains);
  const __m512 least = _mm512_set1_ps(how.params->scalar.min);
  const __m512 most = _mm512_set1_ps(how.params->scalar.max);
  const __mmask32 left = columns_left(nc);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    if (r >= a->count) break;
    const __m512 scale = _mm512_set1_ps(how.quantization[r * how.step].inv_scale);
    float* const to = (float*)((uintptr_t)c + r * cm_stride);
    UNROLL for (size_t half = 0; half < halves; ++half) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.of[0][r][half]), scale);
      const __m512 result = _mm512_fmadd_ps(scaled, _mm512_loadu_ps(w + half * LINE),
                                            _mm512_loadu_ps(w + 4 * COLUMNS + half * LINE));
      _mm512_mask_storeu_ps(to + half * HALF, (__mmask16)(left >> (half * HALF)),
                            _mm512_min_ps(_mm512_max_ps(result, least), most));
    }
  }
  return w + 8 * COLUMNS;
}

INLINE const int8_t* panel_of_integers(const struct rows_of_a* a, struct moved* as, const int8_t* w,
                                       size_t nc, int8_t* c, size_t cm_stride,
                                       const union xnn_qs8_qc8w_conv_minmax_params* params,
                                       size_t rows, size_t halves, size_t chains) {
  struct sums sums;
  begin(&sums, rows, halves, chains);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    UNROLL for (size_t half = 0; half < halves; ++half) {
      sums.of[0][r][half] = _mm512_loadu_si512(w + half * LINE);
    }
  }
  w = add_products(&sums, a, as, w + 4 * COLUMNS, rows, halves, chains);
  const int zero = params->fp32_scalar.output_zero_point;
  const __m512 most = _mm512_set1_ps((float)(params->fp32_scalar.output_max - zero));
  const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
  const __m256i least = _mm256_set1_epi8((int8_t)params->fp32_scalar.output_min);
  // Packing goes by 128 bits of both halves in turns.
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  const __mmask32 left = columns_left(nc);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    if (r >= a->count) break;
    __m512i rounded[2];
    UNROLL for (size_t half = 0; half < halves; ++half) {
      const __m512 scaled =
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums.of[0][r][half]), _mm512_loadu_ps(w + half * LINE));
      rounded[half] = _mm512_cvtps_epi32(_mm512_min_ps(scaled, most));
    }
    const __m512i words =
        _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[halves - 1]), zeros);
    const __m256i bytes = _mm256_max_epi8(_mm512_cvtsepi16_epi8(words), least);
    _mm256_mask_storeu_epi8(c + r * cm_stride, left, _mm256_permutevar8x32_epi32(bytes, order));
  }
  return w + 4 * COLUMNS;
}

// All columns of a tile with `rows` rows, of which a->count are there.
#define PANELS(panel, rows, chains)                                 \
  for (;; nc -= COLUMNS) {                                          \
    if (nc > HALF) {                                                \
      w = panel(a, &as, w, nc, c, cm_stride, how, rows, 2, chains); \
    } else {                                                        \
      w = panel(a, &as, w, nc, c, cm_stride, how, rows, 1, chains); \
    }                                                               \
    if (nc <= COLUMNS) return;                                      \
    c = (void*)((uintptr_t)c + cn_stride);                          \
  }
#define TILE(panel)             \
  {                             \
    struct moved as;            \
    as.length = 0;              \
    if (a->count == 1) {        \
      PANELS(panel, 1, 4)       \
    } else if (a->count == 2) { \
      PANELS(panel, 2, 2)       \
    } else if (a->count <= 4) { \
      PANELS(panel, 4, 2)       \
    } else if (a->count <= 6) { \
      PANELS(panel, 6, 1)       \
    } else {                    \
      PANELS(panel, 8, 1)       \
    }                           \
  }

VNNI static void to_numbers(const struct rows_of_a* a, const int8_t* w, size_t nc, float* c,
                            size_t cm_stride, size_t cn_stride, const struct executorch_numbers how)
    TILE(panel_of_numbers)

        VNNI static void to_integers(const struct rows_of_a* a, const int8_t* w, size_t nc,
                                     int8_t* c, size_t cm_stride, size_t cn_stride,
                                     const union xnn_qs8_qc8w_conv_minmax_params* how)
            TILE(panel_of_integers)

                EXECUTORCH_DEFINE_GEMM(executorch_qd8_f32_qc8w_gemm_8x32c4_vnni,
                                       executorch_qs8_qc8w_gemm_8x32c4_vnni, ROWS)
                    EXECUTORCH_DEFINE_IGEMM(executorch_qd8_f32_qc8w_igemm_8x32c4_vnni,
                                            executorch_qs8_qc8w_igemm_8x32c4_vnni, ROWS)
                        EXECUTORCH_DEFINE_IGEMM(executorch_qd8_f32_qc8w_igemm_1x32c4_vnni,
                                                executorch_qs8_qc8w_igemm_1x32c4_vnni, 1)
