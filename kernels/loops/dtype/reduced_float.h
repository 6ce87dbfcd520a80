// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Conversion of arrays between IEEE half or bfloat16 and float32, 8 or 16 elements at a time on
// processors with F16C or AVX-512. Results are bit-identical to half.h and bfloat16.h.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>

#include <type_traits>

#if ET_WIDE_VECTORS
#include <immintrin.h>
#endif

namespace executorch::kernels {

#if ET_WIDE_VECTORS
__attribute__((target("avx,f16c"))) inline void convert_eight(float* to, const Half* from) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
__attribute__((target("avx,f16c"))) inline void convert_eight(Half* to, const float* from) {
  const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
}
__attribute__((target("avx2"))) inline void convert_eight(float* to, const BFloat16* from) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
}
__attribute__((target("avx2"))) inline void convert_eight(BFloat16* to, const float* from) {
  const __m256 values = _mm256_loadu_ps(from);
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  const __m256i all = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fc0), nan);
  const __m128i low = _mm256_castsi256_si128(all), high = _mm256_extracti128_si256(all, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packus_epi32(low, high));
}
template <class To, class From>
__attribute__((target("avx2"))) void convert_bfloat16s(To* to, const From* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) convert_eight(to + i, from + i);
}
template <class To, class From>
__attribute__((target("avx,f16c"))) void convert_eights(To* to, const From* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) convert_eight(to + i, from + i);
}
// Masked, because some compilers warn of undefined values in the headers of the unmasked
// intrinsics.
inline constexpr __mmask16 kAll = 0xFFFF;
__attribute__((target("avx512f"))) inline void convert_sixteen(float* to, const Half* from) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(kAll, halves));
}
__attribute__((target("avx512f"))) inline void convert_sixteen(Half* to, const float* from) {
  const __m256i halves =
      _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
}
template <class To, class From>
__attribute__((target("avx512f"))) void convert_sixteens(To* to, const From* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) convert_sixteen(to + i, from + i);
}
template <class To, class From>
int64_t convert_ieee_halves(To* to, const From* from, int64_t n) {
  if (!__builtin_cpu_supports("f16c")) return 0;
  int64_t done = 0;
  if (vectors() == Vectors::Avx512) {
    done = n & ~int64_t(15);
    convert_sixteens(to, from, done);
  }
  convert_eights(to + done, from + done, (n - done) & ~int64_t(7));
  return n & ~int64_t(7);
}
/// Converts the elements that fill whole vectors; returns their number.
template <class To, class From>
int64_t convert_halves(To* to, const From* from, int64_t n) {
  if (vectors() < Vectors::Avx2) return 0;
  if constexpr (std::is_same_v<To, BFloat16> || std::is_same_v<From, BFloat16>) {
    convert_bfloat16s(to, from, n & ~int64_t(7));
    return n & ~int64_t(7);
  } else {
    return convert_ieee_halves(to, from, n);
  }
}
#else
template <class To, class From>
int64_t convert_halves(To*, const From*, int64_t) {
  return 0;
}
#endif

}  // namespace executorch::kernels
