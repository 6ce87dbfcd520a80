// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed numbers, and requantization of 16 sums at once for AVX2, as qgemm.h says.
#pragma once

#include <executorch/kernels/engine/qgemm/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define ET_AVX2 __attribute__((target("avx2,fma")))
#define ET_AVX2_INLINE ET_AVX2 inline __attribute__((always_inline))

namespace executorch::kernels::engine {

ET_AVX2_INLINE __m256i ints_at(const int8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}
ET_AVX2_INLINE __m256 floats_at(const int8_t* bytes) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(bytes));
}

/// Words that saturation to bytes and the lower limit complete. Clamps to the upper limit first, in
/// floats: conversion makes numbers beyond int32 the smallest integer.
struct ToWords {
  __m256 scales[2], most;
  __m256i zeros;

  ET_AVX2_INLINE ToWords(const Requantization& to, __m256 first, __m256 second)
      : scales{first, second},
        most(_mm256_set1_ps(float(to.out_max - to.zero_point))),
        zeros(_mm256_set1_epi16(int16_t(to.zero_point))) {}

  /// In the order of the pack instruction: four of `first`, four of `second`, and again.
  ET_AVX2_INLINE __m256i operator()(__m256i first, __m256i second) const {
    const __m256 a = _mm256_mul_ps(_mm256_cvtepi32_ps(first), scales[0]);
    const __m256 b = _mm256_mul_ps(_mm256_cvtepi32_ps(second), scales[1]);
    return _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(a, most)),
                                                _mm256_cvtps_epi32(_mm256_min_ps(b, most))),
                             zeros);
  }
};

/// Eight results of a dynamic product: (sum * row scale) * scale + bias, clamped; NaN stays.
struct ToFloats {
  __m256 least, most;

  ET_AVX2_INLINE explicit ToFloats(const QDynamic& how)
      : least(_mm256_set1_ps(how.clamp_min)), most(_mm256_set1_ps(how.clamp_max)) {}

  ET_AVX2_INLINE __m256 operator()(__m256i sums, __m256 row_scale, __m256 scales,
                                   __m256 biases) const {
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), row_scale);
    // The instructions return their second operand where either is NaN.
    return _mm256_min_ps(most, _mm256_max_ps(least, _mm256_fmadd_ps(scaled, scales, biases)));
  }
};

}  // namespace executorch::kernels::engine
#endif
