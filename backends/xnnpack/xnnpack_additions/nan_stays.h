// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Minima and maxima that are NaN where either operand is. The processor gives the second operand
// then: a NaN in the first is put back.
#pragma once

#include <immintrin.h>

static inline __m128 executorch_nan_of_first_128(__m128 a, __m128 chosen) {
  const __m128 lost = _mm_cmpunord_ps(a, a);
  return _mm_or_ps(_mm_and_ps(lost, a), _mm_andnot_ps(lost, chosen));
}
static inline __m128 executorch_max_128(__m128 a, __m128 b) {
  return executorch_nan_of_first_128(a, _mm_max_ps(a, b));
}
static inline __m128 executorch_min_128(__m128 a, __m128 b) {
  return executorch_nan_of_first_128(a, _mm_min_ps(a, b));
}
#define _mm_max_ps(a, b) executorch_max_128((a), (b))
#define _mm_min_ps(a, b) executorch_min_128((a), (b))

#ifdef __AVX__
static inline __m256 executorch_nan_of_first_256(__m256 a, __m256 chosen) {
  return _mm256_blendv_ps(chosen, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
static inline __m256 executorch_max_256(__m256 a, __m256 b) {
  return executorch_nan_of_first_256(a, _mm256_max_ps(a, b));
}
static inline __m256 executorch_min_256(__m256 a, __m256 b) {
  return executorch_nan_of_first_256(a, _mm256_min_ps(a, b));
}
#define _mm256_max_ps(a, b) executorch_max_256((a), (b))
#define _mm256_min_ps(a, b) executorch_min_256((a), (b))
#endif

#ifdef __AVX512F__
static inline __m512 executorch_nan_of_first_512(__m512 a, __m512 chosen) {
  return _mm512_mask_mov_ps(chosen, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
static inline __m512 executorch_max_512(__m512 a, __m512 b) {
  return executorch_nan_of_first_512(a, _mm512_max_ps(a, b));
}
static inline __m512 executorch_min_512(__m512 a, __m512 b) {
  return executorch_nan_of_first_512(a, _mm512_min_ps(a, b));
}
#define _mm512_max_ps(a, b) executorch_max_512((a), (b))
#define _mm512_min_ps(a, b) executorch_min_512((a), (b))
// Of the last elements; what the mask leaves out is not stored.
#define _mm512_maskz_max_ps(mask, a, b) executorch_max_512((a), (b))
#define _mm512_maskz_min_ps(mask, a, b) executorch_min_512((a), (b))
#endif

#ifdef __AVX512FP16__
static inline __m512h executorch_nan_of_first_512h(__m512h a, __m512h chosen) {
  return _mm512_castsi512_ph(_mm512_mask_mov_epi16(
      _mm512_castph_si512(chosen), _mm512_cmp_ph_mask(a, a, _CMP_UNORD_Q), _mm512_castph_si512(a)));
}
static inline __m512h executorch_max_512h(__m512h a, __m512h b) {
  return executorch_nan_of_first_512h(a, _mm512_max_ph(a, b));
}
static inline __m512h executorch_min_512h(__m512h a, __m512h b) {
  return executorch_nan_of_first_512h(a, _mm512_min_ph(a, b));
}
#define _mm512_max_ph(a, b) executorch_max_512h((a), (b))
#define _mm512_min_ph(a, b) executorch_min_512h((a), (b))
#define _mm512_maskz_max_ph(mask, a, b) executorch_max_512h((a), (b))
#define _mm512_maskz_min_ph(mask, a, b) executorch_min_512h((a), (b))
#endif
