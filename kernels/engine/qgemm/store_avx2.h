// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Stores a tile's sums (products_avx2.h) as results of static and dynamic products.
#pragma once

#include <executorch/kernels/engine/qgemm/products_avx2.h>

#if defined(__x86_64__)
#include <cstring>

namespace executorch::kernels::engine::qgemm_avx2 {

/// A row of results: all of a panel, or as many as are valid.
template <class T>
inline void put(const void* results, size_t columns, T* to) {
  if (columns >= kPanel) {
    std::memcpy(to, results, kPanel * sizeof(T));
  } else {
    std::memcpy(to, results, columns * sizeof(T));
  }
}

ET_AVX2_INLINE __m256i ints_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + index * sizeof(int32_t)));
}

ET_AVX2_INLINE __m256 floats_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(bytes) + index);
}

template <size_t kUsed>
struct StoreFloats {
  size_t rows;
  size_t columns;
  float* out;
  size_t stride;
  const QDynamic& how;
  ToFloats to_float;

  ET_AVX2_INLINE void operator()(size_t first, const TileSums& sums, const int8_t* scales) const {
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      if (r >= rows) break;
      const __m256 row_scale = _mm256_set1_ps(how.row(r).scale);
      __m256 results[2];
      for (size_t half = 0; half < 2; ++half) {
        results[half] = to_float(sums[2 * r + half], row_scale, floats_at(scales, 8 * half),
                                 floats_at(scales, kPanel + 8 * half));
      }
      put(results, columns - first, out + r * stride + first);
    }
  }
};

template <size_t kUsed>
struct StoreBytes {
  size_t rows;
  size_t columns;
  int8_t* out;
  size_t stride;
  const Requantization& to;

  ET_AVX2_INLINE void operator()(size_t first, const TileSums& sums, const int8_t* scales) const {
    const ToWords words(to, floats_at(scales, 0), floats_at(scales, 8));
    const __m256i least = _mm256_set1_epi8(int8_t(to.out_min));
    __m128i results[kRows];
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; r += 2) {
      const size_t next = r + 1 < kUsed ? r + 1 : r;
      const __m256i bytes =
          _mm256_max_epi8(_mm256_packs_epi16(words(sums[2 * r], sums[2 * r + 1]),
                                             words(sums[2 * next], sums[2 * next + 1])),
                          least);
      const __m256i ordered =
          _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
      results[r] = _mm256_castsi256_si128(ordered);
      if (next != r) results[next] = _mm256_extracti128_si256(ordered, 1);
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      if (r < rows) put(results + r, columns - first, out + r * stride + first);
    }
  }
};

}  // namespace executorch::kernels::engine::qgemm_avx2
#endif
