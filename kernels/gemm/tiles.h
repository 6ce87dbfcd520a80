// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The innermost loops of matrix product and convolution as values, so that an instruction set is
// chosen while running. Includes nothing that could leave code of another instruction set behind:
// see tile_product.h.
#pragma once

#include <executorch/kernels/loops/selection.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace executorch::kernels {

/// Whether a program of this build has products that are computed in T.
template <class T>
inline constexpr bool is_product_computed = computes_in<T>(dtypes_of("gemm/gemm.cpp"));

/// The loops of one instruction set in one type; tile_product.h makes them. Steps count elements.
template <class T>
struct GemmTile {
  static constexpr int kMaxRows = 14;
  static constexpr int kFewRows = 4;
  /// (k, a, its row step, b, its row step, c, its row step, whether to add to c)
  using Tile = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t, bool);
  /// (n, k, a, its row step, b, its row step, c, its row step)
  using FewRows = void (*)(int64_t, int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t);
  /// (in, offsets, weights, taps, bias, out, n): out[q] = bias + the sum of weights[t] *
  /// in[offsets[t] + q]; reads up to kOverread bytes beyond
  using TapSum = void (*)(const T*, const int64_t*, const T*, int64_t, T, T*, int64_t);
  static constexpr int64_t kOverread = 64;
  /// (in, weights, taps, bias, out, n): out[i] = bias[i] + the sum of weights[t][i] * in[t][i]
  using LaneSum = void (*)(const T* const*, const T* const*, int64_t, const T*, T*, int64_t);

  int rows;     ///< rows of a full tile
  int columns;  ///< columns of every tile
  Tile tile[kMaxRows];
  FewRows few_rows[kFewRows];
  FewRows few_rows_transposed[kFewRows];
  TapSum tap_sum;
  LaneSum lane_sum;
};

/// One instruction set in the three types that products are computed in (integers wrap).
struct GemmTiles {
  GemmTile<float> f32;
  GemmTile<double> f64;
  GemmTile<uint64_t> u64;
};

/// What any processor of this build can run.
const GemmTiles& plain_gemm_tiles();

template <class T>
const GemmTile<T>& tile_of(const GemmTiles& tiles) {
  if constexpr (std::is_same_v<T, float>) {
    return tiles.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return tiles.f64;
  } else {
    return tiles.u64;
  }
}

}  // namespace executorch::kernels
