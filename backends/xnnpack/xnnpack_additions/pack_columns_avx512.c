// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "pack_columns_avx512.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define AVX512 __attribute__((target("avx512f")))
#define INLINE AVX512 static inline __attribute__((always_inline))
#define SIDE EXECUTORCH_PACKED_ROWS
// What is not read again before the caches have forgotten it.
#define BYTES_BEYOND_CACHES ((size_t)1 << 14)
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))

// Lane l of line c of a group of four becomes column 4 l + c of those four rows.
INLINE void transpose_lanes(__m512 line[SIDE]) {
#pragma GCC unroll 4
  for (size_t i = 0; i < SIDE; i += 4) {
    const __m512 low01 = _mm512_unpacklo_ps(line[i], line[i + 1]);
    const __m512 high01 = _mm512_unpackhi_ps(line[i], line[i + 1]);
    const __m512 low23 = _mm512_unpacklo_ps(line[i + 2], line[i + 3]);
    const __m512 high23 = _mm512_unpackhi_ps(line[i + 2], line[i + 3]);
    const __m512d a = _mm512_castps_pd(low01), b = _mm512_castps_pd(low23);
    const __m512d c = _mm512_castps_pd(high01), d = _mm512_castps_pd(high23);
    line[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    line[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    line[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    line[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
  }
}

INLINE void transpose(__m512 line[SIDE]) {
  transpose_lanes(line);
  const int even = 0x88, odd = 0xdd;
#pragma GCC unroll 4
  for (size_t c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(line[c], line[4 + c], even);
    const __m512 odd01 = _mm512_shuffle_f32x4(line[c], line[4 + c], odd);
    const __m512 even23 = _mm512_shuffle_f32x4(line[8 + c], line[12 + c], even);
    const __m512 odd23 = _mm512_shuffle_f32x4(line[8 + c], line[12 + c], odd);
    line[c] = _mm512_shuffle_f32x4(even01, even23, even);
    line[4 + c] = _mm512_shuffle_f32x4(odd01, odd23, even);
    line[8 + c] = _mm512_shuffle_f32x4(even01, even23, odd);
    line[12 + c] = _mm512_shuffle_f32x4(odd01, odd23, odd);
  }
}

// Asks for what comes next of a row: so many streams the processor does not follow alone.
INLINE void fetch(const float* from) {
  const size_t ahead = 3 * SIDE;
  _mm_prefetch((const char*)(from + ahead), _MM_HINT_T0);
}

INLINE void load(const float* from, size_t rows, size_t stride, size_t count, __m512 line[SIDE]) {
  if (rows == SIDE && count == SIDE) {
#pragma GCC unroll 16
    for (size_t i = 0; i < SIDE; ++i) {
      line[i] = _mm512_loadu_ps(from + i * stride);
      fetch(from + i * stride);
    }
    return;
  }
  for (size_t i = 0; i < SIDE; ++i) {
    line[i] =
        i < rows ? _mm512_maskz_loadu_ps(MASK_OF(count), from + i * stride) : _mm512_setzero_ps();
  }
}

INLINE void store(const __m512 line[SIDE], size_t count, float* to, size_t panel,
                  bool past_caches) {
  if (past_caches) {
    for (size_t i = 0; i < count; ++i) _mm512_stream_ps(to + i * panel, line[i]);
    return;
  }
  if (count == SIDE) {
#pragma GCC unroll 16
    for (size_t i = 0; i < SIDE; ++i) _mm512_storeu_ps(to + i * panel, line[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) _mm512_storeu_ps(to + i * panel, line[i]);
}

AVX512 void executorch_pack_columns_avx512(const float* from, size_t rows, size_t length, float* to,
                                           size_t panel) {
  const bool past_caches = (uintptr_t)to % sizeof(__m512) == 0 &&
                           length * panel * sizeof(float) >= BYTES_BEYOND_CACHES;
  for (size_t k = 0; k < length; k += SIDE) {
    const size_t count = length - k < SIDE ? length - k : SIDE;
    for (size_t row = 0; row < rows; row += SIDE) {
      const size_t there = rows - row < SIDE ? rows - row : SIDE;
      __m512 line[SIDE];
      load(from + row * length + k, there, length, count, line);
      transpose(line);
      store(line, count, to + k * panel + row, panel, past_caches);
    }
  }
  if (past_caches) {
    // Before other threads hear that it is done.
    _mm_sfence();
  }
}
