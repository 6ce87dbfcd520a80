// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 4 rows and panels of 16 columns for AVX2. A vector of weights has 4 elements of
// depth of 8 columns; its low nibbles come before its high nibbles along depth. Nibbles have no
// sign, so `vpmaddubsw` multiplies them by the left operand; a block of 32 elements adds up to at
// most 8 * 2 * 15 * 128 in 16 bits, which cannot saturate.
#include <executorch/kernels/engine/qgemm/int4_tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX2_INLINE AVX2 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

static_assert(8 * 2 * 15 * 128 <= 32768);

AVX2_INLINE __m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// Four elements of a row in every 32-bit lane.
AVX2_INLINE __m256i broadcast(const int8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return _mm256_set1_epi32(four);
}

/// Eight scales from the half of a panel.
template <bool kColumnScales>
AVX2_INLINE __m256 scales_at(const uint8_t* scales, size_t half) {
  if constexpr (kColumnScales) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(scales) + 8 * half);
  } else {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales) + half);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
}

/// sum + weights * left in 16 bits. The empty assembly keeps GCC from adding products up before it
/// adds them to the sum, which takes more registers than there are.
AVX2_INLINE void add_products(__m256i& sum, __m256i weights, __m256i left) {
  sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, left));
  __asm__("" : "+x"(sum));
}

/// A block of 32 elements of depth: 8 vectors of weights times kRows rows, sums in 16 bits.
template <size_t kRows>
AVX2_INLINE void add_block(const int8_t* left, size_t stride, const uint8_t* weights,
                           __m256i (&sums)[kRows][2]) {
  const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  __m256i part[kRows][2];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) part[r][0] = part[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    if (kRows == 1) prefetch_int4(weights + 64 * i);
    const __m256i w0 = load(weights + 64 * i), w1 = load(weights + 64 * i + 32);
    const __m256i low0 = _mm256_and_si256(w0, low), low1 = _mm256_and_si256(w1, low);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const __m256i a = broadcast(left + r * stride + 8 * i);
      add_products(part[r][0], low0, a);
      add_products(part[r][1], low1, a);
    }
    const __m256i high0 = _mm256_and_si256(_mm256_srli_epi16(w0, 4), low);
    const __m256i high1 = _mm256_and_si256(_mm256_srli_epi16(w1, 4), low);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const __m256i a = broadcast(left + r * stride + 8 * i + 4);
      add_products(part[r][0], high0, a);
      add_products(part[r][1], high1, a);
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < 2; ++half) {
      sums[r][half] = _mm256_add_epi32(sums[r][half], _mm256_madd_epi16(part[r][half], ones));
    }
  }
}

template <size_t kRows, bool kColumnScales>
AVX2 void multiply(const Int4Tile& t) {
  const uint8_t* w = t.packed;
  const size_t scale_bytes = kInt4Panel * t.scale_bytes();
  const __m256 least = _mm256_set1_ps(t.clamp_min), most = _mm256_set1_ps(t.clamp_max);
  for (size_t first = 0; first < t.columns; first += kInt4Panel) {
    __m256 totals[kRows][2];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) totals[r][0] = totals[r][1] = _mm256_setzero_ps();
    const int8_t* left = t.left;
    for (size_t g = 0; g < t.groups; ++g) {
      __m256i sums[kRows][2];
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        sums[r][0] = sums[r][1] = _mm256_set1_epi32(t.sums[r * t.groups + g]);
      }
      for (size_t d = 0; d < t.group; d += kInt4Block) {
        add_block<kRows>(left, t.left_stride, w, sums);
        left += kInt4Block;
        w += kInt4Block * kInt4Panel / 2;
      }
#pragma GCC unroll 4
      for (size_t half = 0; half < 2; ++half) {
        const __m256 scales = scales_at<kColumnScales>(w, half);
#pragma GCC unroll 4
        for (size_t r = 0; r < kRows; ++r) {
          totals[r][half] =
              _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][half]), scales, totals[r][half]);
        }
      }
      w += scale_bytes;
    }
    const auto* const tail = reinterpret_cast<const float*>(w);
    w += 2 * kInt4Panel * sizeof(float);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      float results[kInt4Panel];
      const __m256 zero = _mm256_set1_ps(-float(t.parameters[r].zero_point));
      const __m256 scale = _mm256_set1_ps(t.parameters[r].scale);
#pragma GCC unroll 4
      for (size_t half = 0; half < 2; ++half) {
        const __m256 sum = _mm256_fmadd_ps(zero, _mm256_loadu_ps(tail + 8 * half), totals[r][half]);
        const __m256 y = _mm256_fmadd_ps(sum, scale, _mm256_loadu_ps(tail + kInt4Panel + 8 * half));
        // The instructions return their second operand where either is NaN.
        _mm256_storeu_ps(results + 8 * half, _mm256_min_ps(most, _mm256_max_ps(least, y)));
      }
      std::memcpy(t.out + r * t.out_stride + first, results,
                  std::min(kInt4Panel, t.columns - first) * sizeof(float));
    }
  }
}

template <bool kColumnScales>
void multiply_rows(const Int4Tile& t) {
  switch (t.rows) {
    case 1:
      return multiply<1, kColumnScales>(t);
    case 2:
      return multiply<2, kColumnScales>(t);
    case 3:
      return multiply<3, kColumnScales>(t);
    default:
      return multiply<4, kColumnScales>(t);
  }
}

void multiply_tile(const Int4Tile& tile) {
  tile.has_column_scales ? multiply_rows<true>(tile) : multiply_rows<false>(tile);
}

}  // namespace

const Int4Tiles kInt4TilesAvx2 = {4, multiply_tile};

AVX2 void int4_group_sums_avx2(const int8_t* row, size_t group, size_t groups, int32_t* sums) {
  const __m256i ones = _mm256_set1_epi8(1), factor = _mm256_set1_epi16(-8);
  for (size_t g = 0; g < groups; ++g) {
    __m256i sum = _mm256_setzero_si256();
    for (size_t d = 0; d < group; d += kInt4Block, row += kInt4Block) {
      const __m256i pairs =
          _mm256_maddubs_epi16(ones, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, factor));
    }
    alignas(32) int32_t parts[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sum);
    sums[g] = parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5] + parts[6] + parts[7];
  }
}

}  // namespace executorch::kernels::engine
#endif
