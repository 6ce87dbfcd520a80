// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 8 rows and a panel of 16 columns for AVX-512 with VNNI. A vector of weights holds
// 8 elements of depth of each column: four in the low nibbles, then four in the high nibbles.
// Nibbles are unsigned, so `vpdpbusd` multiplies them by the left operand. Sums of a group are
// exact, so results have the same bits as those of AVX2.
#include <executorch/kernels/engine/qgemm/int4_tiles.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define VNNI_INLINE VNNI inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kMaxRows = 8, kLine = 64, kLineDepth = 8;

/// Four elements of a row in every 32-bit lane.
VNNI_INLINE __m512i broadcast(const int8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return _mm512_set1_epi32(four);
}

template <bool kColumnScales>
VNNI_INLINE __m512 scales_at(const uint8_t* scales) {
  if constexpr (kColumnScales) {
    return _mm512_loadu_ps(scales);
  } else {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
}

/// Adds the products of a group to `sums`. Few rows have two chains of sums each: one chain alone
/// would wait for its own results.
template <size_t kRows>
VNNI_INLINE void add_group(const int8_t* left, size_t stride, const uint8_t* weights, size_t group,
                           __m512i (&sums)[kRows]) {
  constexpr size_t kChains = kRows < 4 ? 2 : 1;
  const __m512i nibble = _mm512_set1_epi8(15);
  __m512i chains[kRows][kChains];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    chains[r][0] = sums[r];
    if (kChains == 2) chains[r][1] = _mm512_setzero_si512();
  }
  for (size_t d = 0; d < group; d += kInt4Block) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kInt4Block; i += kLineDepth, weights += kLine, left += kLineDepth) {
      if (kRows == 1) prefetch_int4(weights);
      const __m512i line = _mm512_loadu_si512(weights);
      const __m512i low = _mm512_and_si512(line, nibble);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(line, 4), nibble);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        const int8_t* const at = left + r * stride;
        chains[r][0] = _mm512_dpbusd_epi32(chains[r][0], low, broadcast(at));
        __m512i& last = chains[r][kChains - 1];
        last = _mm512_dpbusd_epi32(last, high, broadcast(at + 4));
      }
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    sums[r] = kChains == 2 ? _mm512_add_epi32(chains[r][0], chains[r][1]) : chains[r][0];
  }
}

template <size_t kRows, bool kColumnScales>
VNNI void multiply(const Int4Tile& t) {
  const uint8_t* w = t.packed;
  const size_t scale_bytes = kInt4Panel * t.scale_bytes();
  const size_t group_bytes = t.group * kInt4Panel / 2;
  const __m512 least = _mm512_set1_ps(t.clamp_min), most = _mm512_set1_ps(t.clamp_max);
  for (size_t first = 0; first < t.columns; first += kInt4Panel) {
    __m512 totals[kRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) totals[r] = _mm512_setzero_ps();
    const int8_t* left = t.left;
    for (size_t g = 0; g < t.groups; ++g, left += t.group) {
      __m512i sums[kRows];
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) sums[r] = _mm512_set1_epi32(t.sums[r * t.groups + g]);
      add_group<kRows>(left, t.left_stride, w, t.group, sums);
      w += group_bytes;
      const __m512 scales = scales_at<kColumnScales>(w);
      w += scale_bytes;
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        totals[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r]), scales, totals[r]);
      }
    }
    const auto* const tail = reinterpret_cast<const float*>(w);
    w += 2 * kInt4Panel * sizeof(float);
    const __m512 offset = _mm512_loadu_ps(tail), bias = _mm512_loadu_ps(tail + kInt4Panel);
    const size_t columns = std::min(kInt4Panel, t.columns - first);
    const auto valid = __mmask16((1u << columns) - 1);
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
      const __m512 zero = _mm512_set1_ps(-float(t.parameters[r].zero_point));
      const __m512 sum = _mm512_fmadd_ps(zero, offset, totals[r]);
      const __m512 y = _mm512_fmadd_ps(sum, _mm512_set1_ps(t.parameters[r].scale), bias);
      // The instructions return their second operand where either is NaN.
      _mm512_mask_storeu_ps(t.out + r * t.out_stride + first, valid,
                            _mm512_min_ps(most, _mm512_max_ps(least, y)));
    }
  }
}

template <bool kColumnScales>
constexpr void (*kMultiply[kMaxRows])(const Int4Tile&) = {
    multiply<1, kColumnScales>, multiply<2, kColumnScales>, multiply<3, kColumnScales>,
    multiply<4, kColumnScales>, multiply<5, kColumnScales>, multiply<6, kColumnScales>,
    multiply<7, kColumnScales>, multiply<8, kColumnScales>};

void multiply_tile(const Int4Tile& tile) {
  (tile.has_column_scales ? kMultiply<true> : kMultiply<false>)[tile.rows - 1](tile);
}

}  // namespace

const Int4Tiles kInt4TilesVnni = {kMaxRows, multiply_tile};

}  // namespace executorch::kernels::engine
#endif
