// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How a product is divided into items for threads: blocks of columns, whose weights fit a part of
// the second-level cache, times blocks of rows. The division changes no bit of the result.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// Items for each thread: several, so that a late or interrupted thread causes a short delay only.
inline constexpr size_t kItemsOfThread = 4;

/// The columns of an item are a multiple of this step, so that items contain complete tiles.
inline size_t column_step(const GemmTiles& tiles) {
  return tiles.pair_rows == 0 ? tiles.panel : 2 * tiles.panel;
}

struct Division {
  size_t rows, columns;  ///< of an item, the last ones of a product may have fewer
  size_t row_items, column_items;

  size_t items() const { return row_items * column_items; }
};

struct DividedProduct {
  size_t images = 1;  ///< products of these sizes, each divided alike
  size_t rows = 0, columns = 0, depth = 0;
  size_t row_step = 1;           ///< blocks of rows are multiples of it where possible
  size_t max_rows = ~size_t{0};  ///< of an item
  Activation activation = Activation::None;
};

/// Returns `permitted`, or Float32 if rounding the left operand takes more time than the product
/// saves: with few columns, or with half-empty pairs.
Precision profitable_precision(Precision permitted, size_t columns, size_t depth);

Division divide(const GemmTiles& tiles, const DividedProduct& product, size_t threads);

}  // namespace executorch::kernels::engine
