// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Up to 6 rows times all columns for AVX2 and FMA, panel by panel. Finding the rows takes as long
// as the products of a panel of little depth, so all panels share it.
#include <executorch/kernels/engine/gemm/pack/pack_rows.h>
#include <executorch/kernels/engine/gemm/tiles/products_avx2.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <executorch/kernels/engine/arithmetic.h>

#define AVX2 __attribute__((target("avx2,fma")))

namespace executorch::kernels::engine {
namespace {

using namespace gemm_avx2;  // NOLINT: the vocabulary of tiles

constexpr size_t kVector = 8, kLine = 64;
/// Parts whose rows are found once for all panels; sums of more parts pass through memory.
constexpr size_t kPartsAtOnce = 10;
/// The addresses of rows, `stride` bytes apart. Rows beyond `count` repeat the last one.
template <class Pointer>
inline void set_rows(Pointer first, size_t stride, size_t count, Pointer* rows) {
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
    rows[r] = first;
    first = moved(first, r + 1 < count ? stride : 0);
  }
}

/// The end of the lines that a panel's first part prefetches, one for each kDepthStep: of memory
/// that is read or written soon, or of the panel's own weights if there is none.
const char* take_lines(size_t part_bytes, size_t parts, const float* w, Lines (&ahead)[2],
                       Prefetch& weights) {
  const size_t bytes = parts * part_bytes;
  const char* from = reinterpret_cast<const char*>(w);
  if (ahead[0].at < ahead[0].end) {
    from = std::exchange(ahead[0].at, moved(ahead[0].at, bytes));
  } else if (ahead[1].at < ahead[1].end) {
    from = std::exchange(ahead[1].at, moved(ahead[1].at, bytes));
  } else if (weights.at[0] < weights.end) {
    from = std::exchange(weights.at[0], moved(weights.at[0], bytes));
  }
  return moved(from, part_bytes);
}

/// Prefetches the rows of the output that the panel writes at its end.
void prefetch_rows(const float* out, size_t row_bytes, size_t rows) {
  for (size_t r = 0; r < rows; ++r) __builtin_prefetch(moved(out, r * row_bytes), 0, 3);
}

/// The ends of the rows of `count` parts from `part` on.
void find_ends(const LeftRows& left, size_t part, size_t count, RowEnds* ends) {
  const size_t bytes = left.depth * sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    if (left.table == nullptr) {
      set_rows(moved(left.first, (part + i) * left.part_stride + bytes), left.stride, left.count,
               ends[i]);
      continue;
    }
    const float* const* const table = left.table + (part + i) * left.table_rows;
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) {
      const float* const at = table[std::min(r, left.count - 1)];
      ends[i][r] = moved(at, (at == left.zero ? 0 : left.offset) + bytes);
    }
  }
}

AVX2 inline __attribute__((always_inline)) __m256 finished(__m256 sum, const float* residual,
                                                           const OutputTile& to) {
  if (residual != nullptr) sum = _mm256_add_ps(sum, _mm256_loadu_ps(residual));
  // The instructions return their second operand where either is NaN.
  return _mm256_min_ps(_mm256_set1_ps(to.clamp_max),
                       _mm256_max_ps(_mm256_set1_ps(to.clamp_min), sum));
}

/// Stores `count` columns of the sums; the last block adds residuals and clamps.
AVX2 void store_sums(size_t rows, size_t count, const float* sums, float* out,
                     const OutputTile& to) {
  const bool adds = to.is_last_block && to.has_residual;
  for (size_t r = 0; r < rows; ++r, sums += kPanel) {
    float* const place = moved(out, r * to.row_bytes);
    float edge[kPanel], residual[kPanel] = {};
    if (adds) std::memcpy(residual, moved(place, to.residual), count * sizeof(float));
    for (size_t c = 0; c < kPanel; c += kVector) {
      __m256 sum = _mm256_load_ps(sums + c);
      if (to.is_last_block) sum = finished(sum, adds ? residual + c : nullptr, to);
      _mm256_storeu_ps(edge + c, sum);
    }
    std::memcpy(place, edge, count * sizeof(float));
  }
}

/// Some rows times all columns, and what their panels share.
class RowsOfPanels {
 public:
  RowsOfPanels(const LeftRows& left, Prefetch& weights, const OutputTile& to)
      : left_(left), to_(to), weights_(weights), ahead_{left.next_rows, left.next_results} {
    operands_.depth = -intptr_t(left.depth * sizeof(float));
    operands_.prefetched = left.depth / kDepthStep * kLine;
    operands_.residual = to.residual;
    set_rows(to.out, to.row_bytes, left.count, out_);
    if (left.parts <= kPartsAtOnce) find_ends(left, 0, left.parts, ends_);
  }

  void multiply() {
    const float *bias = to_.bias[0], *w = to_.weights[0];
    const size_t bias_bytes = to_.bias_stride == 0 ? to_.panel_bytes : 0;
    for (size_t column = 0; column < to_.count; column += kPanel) {
      multiply_panel(column, bias, w);
      bias = moved(bias, bias_bytes);
      w = moved(w, to_.panel_bytes);
    }
  }

 private:
  void multiply_panel(size_t column, const float* bias, const float* w) {
    const size_t count = std::min(to_.count - column, kPanel);
    const bool is_half = count <= kVector, is_whole = count == (is_half ? kVector : kPanel);
    begin_sums(column, count, is_whole, bias);
    if (left_.parts == 0) return store_beginnings(column, count, w);
    const char* next = take_lines(operands_.prefetched, left_.parts, w, ahead_, weights_);
    float* const out = to_.out + column;
    if (left_.parts * left_.depth >= kMinOutputPrefetchDepth) {
      prefetch_rows(out, to_.row_bytes, left_.count);
    }
    for (size_t part = 0, taken = 0; part < left_.parts; part += taken) {
      taken = std::min(left_.parts - part, kPartsAtOnce);
      if (left_.parts > kPartsAtOnce) find_ends(left_, part, taken, ends_);
      const bool finishes = is_whole && part + taken == left_.parts;
      end_sums(column, finishes);
      operands_.end_of_rows = ends_ + taken;
      w = is_half ? add_parts<true>(left_.count, ends_, w, next, operands_)
                  : add_parts<false>(left_.count, ends_, w, next, operands_);
      if (part + taken == left_.parts) break;
      next = moved(next, taken * operands_.prefetched);
      operands_.has_bias = false;
      set_rows<const float*>(sums_, kRowBytes, left_.count, operands_.from);
    }
    if (!is_whole) store_sums(left_.count, count, sums_, out, to_);
  }

  /// Sets the initial values of the sums. Results of fewer columns than the panel has are copied.
  void begin_sums(size_t column, size_t count, bool is_whole, const float* bias) {
    operands_.has_bias = to_.is_first_block && to_.bias_stride == 0;  // just before the weights
    if (operands_.has_bias) return;
    if (to_.is_first_block) {
      set_rows(bias, to_.bias_stride, left_.count, operands_.from);
      return;
    }
    const float* const out = to_.out + column;
    if (is_whole && count == kPanel) {
      set_rows(out, to_.row_bytes, left_.count, operands_.from);
      return;
    }
    for (size_t r = 0; r < kRows && r < left_.count; ++r) {
      float* const row = sums_ + r * kPanel;
      std::memcpy(row, moved(out, r * to_.row_bytes), count * sizeof(float));
      std::fill(row + count, row + kPanel, 0.0f);
    }
    set_rows<const float*>(sums_, kRowBytes, left_.count, operands_.from);
  }

  /// Sets the place of the sums: the output's, with its epilogue, if these products finish them.
  void end_sums(size_t column, bool finishes) {
    const bool is_last = finishes && to_.is_last_block;
    operands_.clamp_min = is_last ? to_.clamp_min : -INFINITY;
    operands_.clamp_max = is_last ? to_.clamp_max : INFINITY;
    operands_.has_residual = is_last && to_.has_residual;
    if (!finishes) return set_rows<float*>(sums_, kRowBytes, left_.count, operands_.to);
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) operands_.to[r] = out_[r] + column;
  }

  /// Transposed convolutions have outputs that no input reaches: only the bias.
  void store_beginnings(size_t column, size_t count, const float* w) {
    for (size_t r = 0; r < kRows && r < left_.count; ++r) {
      const float* const from = operands_.has_bias ? w - kPanel : operands_.from[r];
      std::memmove(sums_ + r * kPanel, from, kRowBytes);
    }
    store_sums(left_.count, count, sums_, to_.out + column, to_);
  }

  static constexpr size_t kRowBytes = kPanel * sizeof(float);
  const LeftRows& left_;
  const OutputTile& to_;
  Prefetch& weights_;
  Lines ahead_[2];
  Operands operands_;
  float* out_[kRows];
  RowEnds ends_[kPartsAtOnce];
  alignas(32) float sums_[kRows * kPanel];
};

void tile(const LeftRows& left, Prefetch& prefetch, const OutputTile& to) {
  RowsOfPanels(left, prefetch, to).multiply();
}

constexpr TileFunction kTilesOfRows[kRows] = {tile, tile, tile, tile, tile, tile};

const TileFunction* tiles_for(size_t) { return kTilesOfRows; }

}  // namespace

const GemmTiles& gemm_tiles_avx2() {
  static constexpr GemmTiles kTiles = {
      InstructionSet::Avx2, "gemm_tiles_avx2",         kPanel, kRows, 0, tiles_for, pack_rows,
      Precision::Float32,   /*takes_all_columns=*/true};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
