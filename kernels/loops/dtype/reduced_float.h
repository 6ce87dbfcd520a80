// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Conversion of arrays between IEEE half and float32, 8 or 16 elements at a time on processors with
// F16C or AVX-512. Results are bit-identical to half.h.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>

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
/// Converts the elements that fill whole vectors; returns their number.
template <class To, class From>
int64_t convert_halves(To* to, const From* from, int64_t n) {
  if (vectors() < Vectors::Avx2 || !__builtin_cpu_supports("f16c")) return 0;
  int64_t done = 0;
  if (vectors() == Vectors::Avx512) {
    done = n & ~int64_t(15);
    convert_sixteens(to, from, done);
  }
  convert_eights(to + done, from + done, (n - done) & ~int64_t(7));
  return n & ~int64_t(7);
}
#else
template <class To, class From>
int64_t convert_halves(To*, const From*, int64_t) {
  return 0;
}
#endif

}  // namespace executorch::kernels
