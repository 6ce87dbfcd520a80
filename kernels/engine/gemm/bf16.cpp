// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/simd/avx512.h>

namespace executorch::kernels::engine {

#if defined(__x86_64__)
#define BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace {

constexpr size_t kLanes = 16;

BF16 inline __mmask16 mask_of(size_t count) {
  return __mmask16(count < kLanes ? (1u << count) - 1 : 0xffff);
}

}  // namespace

BF16 void narrow_to_pairs(const float* from, size_t count, float* to) {
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes, to += kLanes) {
    const __m512 low = _mm512_loadu_ps(from + i), high = _mm512_loadu_ps(from + i + kLanes);
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
  if (i < count) {
    const size_t left = count - i;
    const __m512 low = _mm512_maskz_loadu_ps(mask_of(left), from + i);
    const __m512 high = _mm512_maskz_loadu_ps(mask_of(left < kLanes ? 0 : left - kLanes),
                                              from + i + (left < kLanes ? 0 : kLanes));
    _mm512_mask_storeu_epi32(to, mask_of((left + 1) / 2), (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
}

BF16 void narrow_threes(const float* from, size_t count, float* to) {
  constexpr size_t kOfVector = 4, kAtOnce = 2 * kOfVector;
  constexpr __mmask16 kThrees = 0x7777;
  for (size_t i = 0; i < count; i += kAtOnce, from += 3 * kAtOnce, to += 2 * kAtOnce) {
    const size_t left = std::min(count - i, kAtOnce), first = std::min(left, kOfVector);
    const __m512 low = _mm512_maskz_loadu_ps(mask_of(3 * first), from);
    const __m512 high = _mm512_maskz_loadu_ps(mask_of(3 * (left - first)), from + 3 * first);
    const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_maskz_expand_ps(kThrees, high),
                                               _mm512_maskz_expand_ps(kThrees, low));
    _mm512_mask_storeu_epi32(to, mask_of(2 * left), (__m512i)pairs);
  }
}

BF16 void pair_up(const float* first, const float* second, size_t count, float* to) {
  for (size_t i = 0; i < count; i += kLanes) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 low = _mm512_maskz_loadu_ps(mask, first + i);
    const __m512 high =
        second == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, second + i);
    const __m512i lows = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(low));
    const __m512i highs = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(high));
    _mm512_mask_storeu_epi32(to + i, mask, _mm512_or_si512(lows, _mm512_slli_epi32(highs, 16)));
  }
}

#else

// Other architectures have no bfloat16 tiles yet. These functions compute the same in plain C++.
namespace {

uint32_t rounded(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (std::isnan(x)) return bits >> 16 | 0x40;
  if (std::fpclassify(x) == FP_SUBNORMAL) return bits >> 16 & 0x8000;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void store_pair(float first, float second, float* to) {
  const uint32_t pair = rounded(first) | rounded(second) << 16;
  std::memcpy(to, &pair, sizeof(pair));
}

}  // namespace

void narrow_to_pairs(const float* from, size_t count, float* to) {
  for (size_t i = 0; i < count; i += 2) {
    store_pair(from[i], i + 1 < count ? from[i + 1] : 0.0f, to + i / 2);
  }
}

void narrow_threes(const float* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) narrow_to_pairs(from + 3 * i, 3, to + 2 * i);
}

void pair_up(const float* first, const float* second, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) {
    store_pair(first[i], second == nullptr ? 0.0f : second[i], to + i);
  }
}

#endif

void pack_pairs(const GemmTiles& tiles, const RightMatrix& right, size_t columns, size_t depth,
                float* to) {
  /// Number of pairs of each column that are rounded, then transposed together.
  constexpr size_t kPairsAtOnce = 64, kMaxPanel = 32;
  const size_t panel = tiles.panel;
  if (right.depth_stride == 1 && right.column_stride != 1) {
    if (columns < panel) std::memset(to, 0, tiles.words(depth) * panel * sizeof(float));
    float pairs[kMaxPanel * kPairsAtOnce];
    for (size_t d = 0; d < depth; d += 2 * kPairsAtOnce, to += kPairsAtOnce * panel) {
      const size_t count = std::min(depth - d, 2 * kPairsAtOnce);
      for (size_t c = 0; c < columns; ++c) {
        narrow_to_pairs(right.data + d + c * right.column_stride, count, pairs + c * kPairsAtOnce);
      }
      tiles.pack_rows(pairs, columns, kPairsAtOnce, tiles.words(count), to, panel,
                      PackedUse::Later);
    }
    return;
  }
  for (size_t d = 0; d < depth; d += 2, to += panel) {
    const float* const first = right.data + d * right.depth_stride;
    const float* const second = d + 1 < depth ? first + right.depth_stride : nullptr;
    if (right.column_stride == 1) {
      pair_up(first, second, columns, to);
    } else {
      for (size_t c = 0; c < columns; ++c) {
        const size_t at = c * right.column_stride;
        pair_up(first + at, second == nullptr ? nullptr : second + at, 1, to + c);
      }
    }
    std::fill(to + columns, to + panel, 0.0f);
  }
}

void narrow_rows(const NarrowedRows& rows, Threads& threads) {
  /// Minimum number of elements for each thread.
  constexpr size_t kPerItem = size_t{1} << 15;
  const size_t words = (rows.count + 1) / 2, row_floats = rows.parts * rows.count;
  if (rows.rows == 0 || row_floats == 0) return;
  const bool is_contiguous = rows.stride == row_floats && rows.count % 2 == 0;
  const size_t item_rows = std::max(kPerItem / row_floats, size_t{1});
  for_each_item(threads, divide_up(rows.rows, item_rows), [&](size_t item, size_t) {
    const size_t begin = item * item_rows, end = std::min(rows.rows, begin + item_rows);
    float* to = rows.to + begin * rows.parts * words;
    if (is_contiguous) {
      narrow_to_pairs(rows.from + begin * row_floats, (end - begin) * row_floats, to);
      return;
    }
    if (rows.count == 3 && rows.stride == row_floats) {
      narrow_threes(rows.from + begin * row_floats, (end - begin) * rows.parts, to);
      return;
    }
    for (size_t row = begin; row < end; ++row) {
      const float* from = rows.from + row * rows.stride;
      for (size_t part = 0; part < rows.parts; ++part, from += rows.count, to += words) {
        narrow_to_pairs(from, rows.count, to);
      }
    }
  });
}

}  // namespace executorch::kernels::engine
