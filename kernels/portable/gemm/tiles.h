// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The innermost loops of a matrix product as values, so that an instruction set is chosen at run
// time.
#pragma once

#include <executorch/kernels/loops/dtype/selection.h>

#include <cstdint>
#include <type_traits>

namespace executorch::kernels {

/// True if programs of this build have products that are computed in T.
template <class T>
inline constexpr bool is_product_computed = computes_in<T>(dtypes_of("portable/gemm/gemm.cpp"));

/// The loops of one instruction set in one type; tile_product.h makes them. Steps count elements.
template <class T>
struct GemmTile {
  static constexpr int kMaxRows = 12;
  /// (k, a, its row step, b, its row step, c, its row step, whether to add to c)
  using Tile = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*, int64_t, bool);

  int rows;     ///< rows of a full tile
  int columns;  ///< columns of every tile
  Tile tile[kMaxRows];
};

/// One instruction set in the three types that products are computed in (integers wrap).
struct GemmTiles {
  GemmTile<float> f32;
  GemmTile<double> f64;
  GemmTile<uint64_t> u64;
};

/// Tiles for every processor that this build supports.
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
