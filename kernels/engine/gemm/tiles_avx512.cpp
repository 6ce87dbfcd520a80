// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 10 rows x 32 columns and of up to 6 rows x 64 columns for AVX-512. A pair of
// panels uses each element of the left operand for four multiplications. Where the last half panel
// has eight columns only, one vector holds those of two rows.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack_avx512.h>
#include <executorch/kernels/engine/gemm/tiles.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,prfchw")))
#define INLINE AVX512 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 10, kPairRows = 6, kPanel = 32, kHalf = 16, kHalves = 4, kLine = 64;

/// The shape of a tile, known at compile time. Halves are half panels of 16 columns. Where it
/// shares, the last half has eight columns and the sums of rows 2i and 2i + 1 are in row 2i's
/// vector.
template <size_t kTileRows, size_t kTileHalves, bool kTileShares>
struct Shape {
  static constexpr size_t rows = kTileRows, halves = kTileHalves;
  static constexpr bool shares = kTileShares;
  static constexpr bool is_shared(size_t half) { return kTileShares && half + 1 == kTileHalves; }
};

using Sums = __m512 (*)[kHalves];

/// The rows of a part. Rows beyond `count` repeat the last one.
template <class S>
INLINE void find_rows(const LeftRows& left, size_t part, const float** row) {
  if (left.table == nullptr) {
    const float* at = moved(left.first, part * left.part_stride);
#pragma GCC unroll 10
    for (size_t r = 0; r < S::rows; ++r) {
      row[r] = at;
      at = moved(at, r + 1 < left.count ? left.stride : 0);
    }
    return;
  }
  const float* const* const table = left.table + part * left.table_rows;
#pragma GCC unroll 10
  for (size_t r = 0; r < S::rows; ++r) {
    const float* const pointer = table[r < left.count ? r : left.count - 1];
    row[r] = pointer == left.zero ? pointer : moved(pointer, left.offset);
  }
}

/// The valid columns of a half.
INLINE __mmask16 mask_of(const OutputTile& to, size_t half) {
  const size_t before = half * kHalf;
  const size_t left = to.count > before ? to.count - before : 0;
  return __mmask16(left < kHalf ? (1u << left) - 1 : 0xffff);
}

INLINE float* place_of(const OutputTile& to, size_t row, size_t half) {
  return moved(to.out, row * to.row_bytes) + half * kHalf;
}

/// Prefetches the lines of a tile. The barrier keeps the compiler from computing all addresses
/// first, which need more registers than there are.
template <class S, bool kToWrite>
INLINE void prefetch_tile(const char* place, size_t row_bytes) {
#pragma GCC unroll 10
  for (size_t r = 0; r < S::rows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < S::halves; ++half) {
      __builtin_prefetch(place + half * kLine, kToWrite ? 1 : 0, 3);
    }
    place += row_bytes;
    __asm__("" : "+r"(place));
  }
}

INLINE __m512 join_low_halves(__m512 first, __m512 second) {
  const __m256d high = _mm256_castps_pd(_mm512_castps512_ps256(second));
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(first), high, 1));
}

INLINE __m512 high_half(__m512 joined) {
  const __m256d high = _mm512_extractf64x4_pd(_mm512_castps_pd(joined), 1);
  return _mm512_castpd_ps(_mm512_castpd256_pd512(high));
}

template <class S>
INLINE void begin(const LeftRows& left, const OutputTile& to, Sums sums) {
#pragma GCC unroll 4
  for (size_t half = 0; half < S::halves; ++half) {
    if (to.is_first_block) {
      const __m512 bias = _mm512_load_ps(to.bias[half / 2] + half % 2 * kHalf);
#pragma GCC unroll 10
      for (size_t r = 0; r < S::rows; ++r) sums[r][half] = bias;
    } else {
      const __mmask16 mask = mask_of(to, half);
#pragma GCC unroll 10
      for (size_t r = 0; r < S::rows; ++r) {
        const size_t row = r < left.count ? r : 0;
        sums[r][half] = _mm512_maskz_loadu_ps(mask, place_of(to, row, half));
      }
    }
  }
  if (!S::shares) return;
#pragma GCC unroll 5
  for (size_t r = 0; r < S::rows; r += 2) {
    __m512& shared = sums[r][S::halves - 1];
    shared = join_low_halves(shared, sums[r + 1][S::halves - 1]);
  }
}

struct Clamp {
  __m512 min, max;
};

INLINE Clamp clamp_of(const OutputTile& to) {
  return {_mm512_set1_ps(to.clamp_min), _mm512_set1_ps(to.clamp_max)};
}

/// The instructions return their second operand where either is NaN.
INLINE __m512 clamped(const Clamp& clamp, __m512 sum) {
  return _mm512_min_ps(clamp.max, _mm512_max_ps(clamp.min, sum));
}

template <class S>
INLINE __m512 sum_of(Sums sums, size_t row, size_t half) {
  const bool is_second = S::is_shared(half) && row % 2 == 1;
  return is_second ? high_half(sums[row - 1][half]) : sums[row][half];
}

/// Stores the valid part of an edge tile.
AVX512 __attribute__((noinline)) void store_edge(size_t rows, const OutputTile& to, Sums sums) {
  const Clamp clamp = clamp_of(to);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t half = 0; half * kHalf < to.count; ++half) {
      const __mmask16 mask = mask_of(to, half);
      float* const place = place_of(to, r, half);
      __m512 sum = sums[r][half];
      if (to.is_last_block && to.has_residual) {
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, moved(place, to.residual)));
      }
      if (to.is_last_block) sum = clamped(clamp, sum);
      if (mask == 0xffff) {  // a masked store takes several times as long
        _mm512_storeu_ps(place, sum);
      } else {
        _mm512_mask_storeu_ps(place, mask, sum);
      }
    }
  }
}

/// Arguments are read before the first store, which could alias any of them.
template <class S, bool kIsLast, bool kHasResidual>
INLINE void store(const OutputTile& to, Sums sums) {
  const Clamp clamp = clamp_of(to);
  const size_t row_bytes = to.row_bytes, to_residual = to.residual;
  float* first = to.out;
#pragma GCC unroll 10
  for (size_t r = 0; r < S::rows; ++r) {
#pragma GCC unroll 4
    for (size_t half = 0; half < S::halves; ++half) {
      float* const place = first + half * kHalf;
      const float* const residual = moved(place, to_residual);
      __m512 sum = sum_of<S>(sums, r, half);
      if (S::is_shared(half)) {
        if (kHasResidual) {
          sum = _mm512_add_ps(sum, _mm512_castps256_ps512(_mm256_loadu_ps(residual)));
        }
        if (kIsLast) sum = clamped(clamp, sum);
        _mm256_storeu_ps(place, _mm512_castps512_ps256(sum));
      } else {
        if (kHasResidual) sum = _mm512_add_ps(sum, _mm512_loadu_ps(residual));
        if (kIsLast) sum = clamped(clamp, sum);
        _mm512_storeu_ps(place, sum);
      }
    }
    first = moved(first, row_bytes);
  }
}

template <class S>
INLINE void end(const LeftRows& left, const OutputTile& to, Sums sums) {
  constexpr size_t kColumns = S::halves * kHalf - (S::shares ? kHalf / 2 : 0);
  if (left.count < S::rows || to.count < kColumns) {
    __m512 kept[kRows][kHalves];  // a copy, so that whole tiles stay in registers
#pragma GCC unroll 10
    for (size_t r = 0; r < S::rows; ++r) {
#pragma GCC unroll 4
      for (size_t half = 0; half < S::halves; ++half) kept[r][half] = sum_of<S>(sums, r, half);
    }
    store_edge(left.count, to, kept);
  } else if (!to.is_last_block) {
    store<S, false, false>(to, sums);
  } else if (to.has_residual) {
    store<S, true, true>(to, sums);
  } else {
    store<S, true, false>(to, sums);
  }
}

/// Adds the products of element `at` of each row and one row of weights.
template <class S>
INLINE void multiply(const float* const* row, size_t at, const float* const* w, size_t row_of_w,
                     Sums sums) {
  __m512 weights[kHalves], before = _mm512_setzero_ps();
#pragma GCC unroll 4
  for (size_t half = 0; half < S::halves; ++half) {
    const float* const from = w[half / 2] + row_of_w * kPanel + half % 2 * kHalf;
    weights[half] = S::is_shared(half) ? _mm512_castpd_ps(_mm512_broadcast_f64x4(
                                             _mm256_load_pd(reinterpret_cast<const double*>(from))))
                                       : _mm512_load_ps(from);
  }
#pragma GCC unroll 10
  for (size_t r = 0; r < S::rows; ++r) {
    const __m512 element = _mm512_set1_ps(row[r][at]);
#pragma GCC unroll 4
    for (size_t half = 0; half < S::halves; ++half) {
      if (!S::is_shared(half)) {
        sums[r][half] = _mm512_fmadd_ps(element, weights[half], sums[r][half]);
      } else if (r % 2 == 1) {
        const __m512 both = _mm512_mask_mov_ps(before, 0xff00, element);
        sums[r - 1][half] = _mm512_fmadd_ps(both, weights[half], sums[r - 1][half]);
      }
    }
    before = element;
  }
}

/// The position stays in memory, because the tile needs all registers, and is written once for all
/// lines, because each read would wait for the store before it.
INLINE void prefetch_next(Prefetch& prefetch) {
  const char *first = prefetch.at[0], *second = prefetch.at[1];
  const char* const end = first + prefetch.lines * kLine;
  for (; first != end; first += kLine, second += kLine) {
    _mm_prefetch(first, _MM_HINT_T1);
    _mm_prefetch(second, _MM_HINT_T1);
  }
  prefetch.at[0] = first;
  prefetch.at[1] = second;
  __asm__ volatile("" ::: "memory");
}

template <class S>
AVX512 void tile(const LeftRows& left, Prefetch& prefetch, const OutputTile& to) {
  __m512 sums[kRows][kHalves];
  if (to.is_last_block) {
    const char* const out = reinterpret_cast<const char*>(to.out);
    prefetch_tile<S, true>(out, to.row_bytes);
    if (to.has_residual) prefetch_tile<S, false>(moved(out, to.residual), to.row_bytes);
  }
  begin<S>(left, to, sums);
  const float* w[2] = {to.weights[0], to.weights[1]};
  const bool prefetches = prefetch.at[0] < prefetch.end;
  for (size_t part = 0; part < left.parts; ++part) {
    const float* row[kRows];
    find_rows<S>(left, part, row);
    size_t d = 0;
    for (; d + kDepthStep <= left.depth; d += kDepthStep) {
      if (prefetches) prefetch_next(prefetch);
      multiply<S>(row, d, w, 0, sums);
      multiply<S>(row, d + 1, w, 1, sums);
      multiply<S>(row, d + 2, w, 2, sums);
      multiply<S>(row, d + 3, w, 3, sums);
      w[0] += kDepthStep * kPanel;
      if (S::halves > 2) w[1] += kDepthStep * kPanel;
    }
    for (; d < left.depth; ++d) {
      multiply<S>(row, d, w, 0, sums);
      w[0] += kPanel;
      if (S::halves > 2) w[1] += kPanel;
    }
  }
  end<S>(left, to, sums);
}

/// A row alone shares nothing; the other rows of shared tiles are even.
template <size_t kTileRows, size_t kTileHalves, bool kShares>
constexpr TileFunction function = tile<Shape<kTileRows, kTileHalves, kShares && (kTileRows > 1)>>;

template <size_t h, bool s>
constexpr TileFunction kPanelTiles[kRows] = {
    function<1, h, s>,  function<2, h, s>, function<4, h, s>, function<4, h, s>,
    function<6, h, s>,  function<6, h, s>, function<8, h, s>, function<8, h, s>,
    function<10, h, s>, function<10, h, s>};
template <size_t h>
constexpr TileFunction kPairTiles[kPairRows] = {function<1, h, false>, function<2, h, false>,
                                                function<3, h, false>, function<4, h, false>,
                                                function<5, h, false>, function<6, h, false>};
template <size_t h>
constexpr TileFunction kSharingPairTiles[kPairRows] = {function<1, h, true>, function<2, h, true>,
                                                       function<4, h, true>, function<4, h, true>,
                                                       function<6, h, true>, function<6, h, true>};

const TileFunction* tiles_for(size_t columns) {
  const bool shares = columns % kHalf == kHalf / 2;
  switch (divide_up(columns, kHalf)) {
    case 1:
      return shares ? kPanelTiles<1, true> : kPanelTiles<1, false>;
    case 2:
      return shares ? kPanelTiles<2, true> : kPanelTiles<2, false>;
    case 3:
      return shares ? kSharingPairTiles<3> : kPairTiles<3>;
    default:
      return shares ? kSharingPairTiles<4> : kPairTiles<4>;
  }
}

}  // namespace

const GemmTiles& gemm_tiles_avx512() {
  static constexpr GemmTiles kTiles = {
      InstructionSet::Avx512, "gemm_tiles_avx512", kPanel, kRows, kPairRows, tiles_for,
      pack_rows_avx512};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
