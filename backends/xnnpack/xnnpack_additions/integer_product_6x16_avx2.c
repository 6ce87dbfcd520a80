// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loops are assembly: with 12 sums, two vectors of W, one of A and a product, all 16 registers
// are taken.
#include "integer_product_6x16_avx2.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define ROWS 6
#define COLUMNS 16
// How much of A's rows is extended at once: 24 KiB, which fit the first cache with a panel of W.
// The rows are 64 bytes apart from a multiple of 4 KiB, whose loads and stores would wait for each
// other.
#define MOST_AT_ONCE 2048
#define ROW_BYTES 4160
#define BYTES_OF_ROW_(r) "4160*" #r
_Static_assert(ROW_BYTES == 2 * MOST_AT_ONCE + 64, "the assembly has the number, too");

// What of A is extended to 16 bits; each part has an even number of elements.
struct extended {
  __attribute__((aligned(64))) int8_t rows[ROWS * ROW_BYTES];
  size_t length;  // of all parts together if they fit, else 0
};

// Where extending goes on.
struct place {
  size_t part, k;
};

AVX2 static void extend(const int8_t* from, size_t count, int16_t* to) {
  size_t k = 0;
  for (; k + 16 <= count; k += 16) {
    _mm256_storeu_si256((__m256i*)(to + k),
                        _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(from + k))));
  }
  for (; k < count; ++k) to[k] = from[k];
  if (count % 2 != 0) to[count] = 0;
}

// Extends as many parts, or as much of one part, as there is room for; gives the number of
// elements.
AVX2 static size_t extend_next(const struct rows_of_a* a, struct place* place,
                               struct extended* to) {
  size_t filled = 0;
  while (place->part < a->parts && filled < MOST_AT_ONCE) {
    const size_t left = a->kc - place->k, room = MOST_AT_ONCE - filled;
    const size_t taken = left < room ? left : room;
    for (size_t row = 0; row < a->count; ++row) {
      const int8_t* const from = executorch_row_of(a, place->part, row);
      extend(from + place->k, taken, (int16_t*)(to->rows + row * ROW_BYTES) + filled);
    }
    filled += taken + taken % 2;
    place->k += taken;
    if (place->k == a->kc) {
      place->k = 0;
      ++place->part;
    }
  }
  return filled;
}

// Two elements of row r of A, at `at` bytes, times 16 columns: sums in the registers `low`, `high`.
#define TIMES_ROW(r, at, low, high) \
  "vpbroadcastd " #at "+" BYTES_OF_ROW_(r) "(%[a]), %%ymm14\n" \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n"                       \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n"                       \
  "vpaddd %%ymm15, %%ymm" #low ", %%ymm" #low "\n"             \
  "vpaddd %%ymm14, %%ymm" #high ", %%ymm" #high "\n"
#define LOAD_WEIGHTS(w0, w1) \
  "vpmovsxbw " #w0           \
  "(%[w]), %%ymm12\n"        \
  "vpmovsxbw " #w1 "(%[w]), %%ymm13\n"
// Two steps along K for as many rows. `at`: bytes in A; `w0`, `w1`: bytes in W.
#define STEP_1(at, w0, w1) LOAD_WEIGHTS(w0, w1) TIMES_ROW(0, at, 0, 1)
#define STEP_3(at, w0, w1) STEP_1(at, w0, w1) TIMES_ROW(1, at, 2, 3) TIMES_ROW(2, at, 4, 5)
#define STEP_6(at, w0, w1) \
  STEP_3(at, w0, w1) TIMES_ROW(3, at, 6, 7) TIMES_ROW(4, at, 8, 9) TIMES_ROW(5, at, 10, 11)
#define ALONG_K(STEP) \
  "sub $4, %[n]\n"     \
  "jl 2f\n"            \
  ".p2align 5\n"       \
  "1:\n"               \
  STEP(0, 0, 16)       \
  STEP(4, 32, 48)      \
  STEP(8, 64, 80)      \
  STEP(12, 96, 112)    \
  "add $128, %[w]\n"   \
  "add $16, %[a]\n"    \
  "sub $4, %[n]\n"     \
  "jge 1b\n"           \
  "2:\n"               \
  "add $4, %[n]\n"     \
  "jz 4f\n"            \
  "3:\n"               \
  STEP(0, 0, 16)       \
  "add $32, %[w]\n"    \
  "add $4, %[a]\n"     \
  "dec %[n]\n"         \
  "jnz 3b\n"           \
  "4:\n"
#define MOVE_SUM(register, at, FORM) FORM(#at "(%[sums])", "%%ymm" #register)
#define TO_REGISTER(memory, register) "vmovdqa " memory ", " register "\n"
#define TO_MEMORY(memory, register) "vmovdqa " register ", " memory "\n"
#define MOVE_SUMS(FORM)                                                                            \
  MOVE_SUM(0, 0, FORM)                                                                             \
  MOVE_SUM(1, 32, FORM)                                                                            \
  MOVE_SUM(2, 64, FORM)                                                                            \
  MOVE_SUM(3, 96, FORM) MOVE_SUM(4, 128, FORM) MOVE_SUM(5, 160, FORM) MOVE_SUM(6, 192, FORM)       \
      MOVE_SUM(7, 224, FORM) MOVE_SUM(8, 256, FORM) MOVE_SUM(9, 288, FORM) MOVE_SUM(10, 320, FORM) \
          MOVE_SUM(11, 352, FORM)
#define REGISTERS                                                                          \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define ADD_PRODUCTS(STEP)                                                   \
  __asm__ volatile(MOVE_SUMS(TO_REGISTER) ALONG_K(STEP) MOVE_SUMS(TO_MEMORY) \
                   : [w] "+r"(w), [a] "+r"(a), [n] "+r"(n)                   \
                   : [sums] "r"(sums)                                        \
                   : "memory", "cc", REGISTERS)

// Adds to the sums of `rows` rows; gives what follows in W.
static const int8_t* add_products(size_t rows, const int8_t* a, size_t length, const int8_t* w,
                                  int32_t* sums) {
  intptr_t n = (intptr_t)(length / 2);
  if (rows == 1) {
    ADD_PRODUCTS(STEP_1);
  } else if (rows <= 3) {
    ADD_PRODUCTS(STEP_3);
  } else {
    ADD_PRODUCTS(STEP_6);
  }
  return w;
}

// As above, with all of A.
static const int8_t* add_panel(const struct rows_of_a* a, struct extended* as, const int8_t* w,
                               int32_t* sums) {
  if (as->length != 0) return add_products(a->count, as->rows, as->length, w, sums);
  struct place place = {0, 0};
  while (place.part < a->parts) {
    const size_t length = extend_next(a, &place, as);
    w = add_products(a->count, as->rows, length, w, sums);
    if (place.part == a->parts && a->parts * (a->kc + a->kc % 2) <= MOST_AT_ONCE) {
      as->length = length;
    }
  }
  return w;
}

// A row of results: 16, or as many as are left.
static void put(const void* results, size_t size, size_t columns, void* to) {
  if (columns >= COLUMNS) {
    memcpy(to, results, COLUMNS * size);
  } else {
    memcpy(to, results, columns * size);
  }
}

AVX2 static void to_numbers(const struct rows_of_a* a, const int8_t* w, size_t nc, float* c,
                            size_t cm_stride, size_t cn_stride,
                            const struct executorch_numbers as) {
  __attribute__((aligned(32))) int32_t sums[ROWS * COLUMNS];
  struct extended extended;
  extended.length = 0;
  const __m256 least = _mm256_set1_ps(as.params->scalar.min);
  const __m256 most = _mm256_set1_ps(as.params->scalar.max);
  for (;;) {
    for (size_t row = 0; row < a->count; ++row) {
      const __m256i zero = _mm256_set1_epi32(as.quantization[row * as.step].zero_point);
      for (int half = 0; half < COLUMNS; half += 8) {
        const __m256i begin = _mm256_loadu_si256((const __m256i*)(w + 4 * half));
        _mm256_store_si256((__m256i*)(sums + row * COLUMNS + half),
                           _mm256_mullo_epi32(begin, zero));
      }
    }
    w = add_panel(a, &extended, w + 4 * COLUMNS, sums);
    for (size_t row = 0; row < a->count; ++row) {
      const __m256 scale = _mm256_set1_ps(as.quantization[row * as.step].inv_scale);
      float results[COLUMNS];
      for (int half = 0; half < COLUMNS; half += 8) {
        const __m256i sum = _mm256_load_si256((const __m256i*)(sums + row * COLUMNS + half));
        const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
        const __m256 result = _mm256_fmadd_ps(scaled, _mm256_loadu_ps((const float*)w + half),
                                              _mm256_loadu_ps((const float*)w + COLUMNS + half));
        _mm256_storeu_ps(results + half, _mm256_min_ps(_mm256_max_ps(result, least), most));
      }
      put(results, sizeof(float), nc, (void*)((uintptr_t)c + row * cm_stride));
    }
    if (nc <= COLUMNS) return;
    w += 2 * COLUMNS * sizeof(float);
    nc -= COLUMNS;
    c = (float*)((uintptr_t)c + cn_stride);
  }
}

AVX2 static void to_integers(const struct rows_of_a* a, const int8_t* w, size_t nc, int8_t* c,
                             size_t cm_stride, size_t cn_stride,
                             const union xnn_qs8_qc8w_conv_minmax_params* params) {
  __attribute__((aligned(32))) int32_t sums[ROWS * COLUMNS];
  struct extended extended;
  extended.length = 0;
  const int zero = params->fp32_scalar.output_zero_point;
  const __m256 most = _mm256_set1_ps((float)(params->fp32_scalar.output_max - zero));
  const __m256i zeros = _mm256_set1_epi16((int16_t)zero);
  const __m128i least = _mm_set1_epi8((int8_t)params->fp32_scalar.output_min);
  for (;;) {
    for (size_t row = 0; row < a->count; ++row) {
      memcpy(sums + row * COLUMNS, w, COLUMNS * sizeof(int32_t));
    }
    w = add_panel(a, &extended, w + 4 * COLUMNS, sums);
    for (size_t row = 0; row < a->count; ++row) {
      __m256i rounded[2];
      for (int half = 0; half < 2; ++half) {
        const __m256i sum = _mm256_load_si256((const __m256i*)(sums + row * COLUMNS) + half);
        const __m256 scaled =
            _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps((const float*)w + 8 * half));
        rounded[half] = _mm256_cvtps_epi32(_mm256_min_ps(scaled, most));
      }
      const __m256i words = _mm256_adds_epi16(
          _mm256_permute4x64_epi64(_mm256_packs_epi32(rounded[0], rounded[1]), 0xD8), zeros);
      const __m128i bytes =
          _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      int8_t results[COLUMNS];
      _mm_storeu_si128((__m128i*)results, _mm_max_epi8(bytes, least));
      put(results, sizeof(int8_t), nc, (void*)((uintptr_t)c + row * cm_stride));
    }
    if (nc <= COLUMNS) return;
    w += COLUMNS * sizeof(float);
    nc -= COLUMNS;
    c = (int8_t*)((uintptr_t)c + cn_stride);
  }
}

EXECUTORCH_DEFINE_GEMM(executorch_qd8_f32_qc8w_gemm_6x16c2_avx2,
                       executorch_qs8_qc8w_gemm_6x16c2_avx2, ROWS)
EXECUTORCH_DEFINE_IGEMM(executorch_qd8_f32_qc8w_igemm_6x16c2_avx2,
                        executorch_qs8_qc8w_igemm_6x16c2_avx2, ROWS)
EXECUTORCH_DEFINE_IGEMM(executorch_qd8_f32_qc8w_igemm_1x16c2_avx2,
                        executorch_qs8_qc8w_igemm_1x16c2_avx2, 1)
