// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One thread's product of any number of rows and packed columns by tiles (tiles.h).
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

/// out[r, c] = clamp(bias + sum of products + residual[r, c]). Strides are bytes. The bias is the
/// packed panel's for c, or that of row_bias for r.
struct Product {
  const GemmTiles* tiles = nullptr;
  size_t rows = 0, columns = 0;
  /// The left operand: `parts` parts of `depth` elements each. Its rows begin at `left`, or are
  /// given by an indirection buffer: for each table_rows rows, table_rows pointers for every part.
  size_t parts = 1, depth = 0;
  const float* left = nullptr;
  size_t left_stride = 0, part_stride = 0;
  const float* const* table = nullptr;
  size_t table_rows = 0, offset = 0;
  const float* zero = nullptr;
  const float* packed = nullptr;    ///< begins with a panel
  const float* row_bias = nullptr;  ///< a panel of equal numbers for each row; aligned
  float* out = nullptr;
  size_t out_stride = 0;
  /// Results are pairs of bfloat16 (tiles.h); then GemmTiles::writes_pairs and is_one_block().
  bool writes_pairs = false;
  const float* residual = nullptr;  ///< lies as `out` does
  float clamp_min = -INFINITY, clamp_max = INFINITY;
  bool prefetches = false;
  size_t next_bytes = 0;  ///< of weights after these that the next product reads
  /// Other memory that is read after this product, for products without `prefetches`.
  Prefetch next_read = {};

  /// The floats that `columns` results of a row take.
  size_t out_floats(size_t columns) const { return writes_pairs ? columns / 2 : columns; }

  /// Sets the place of the result, from element `at` of a tensor on, and its epilogue, except for
  /// the activation. stride: floats from row to row.
  void write_to(float* tensor, size_t at, size_t stride, const Epilogue& epilogue) {
    out = tensor + at;
    out_stride = stride * sizeof(float);
    residual = epilogue.residual == nullptr ? nullptr : epilogue.residual + at;
    clamp_min = epilogue.clamp_min;
    clamp_max = epilogue.clamp_max;
  }
};

void run_product(const Product& product);

/// True if the elements of depth, of all parts, are multiplied without sums in the output between.
bool is_one_block(size_t depth);

/// Floats of a packed panel.
inline size_t panel_floats(const GemmTiles& tiles, size_t depth) {
  return (1 + depth) * tiles.panel;
}
/// The maximum of table_rows, the rows of a group of an indirection buffer, for `columns` columns.
inline size_t max_table_rows(const GemmTiles& tiles, size_t columns) {
  return columns > tiles.panel && tiles.pair_rows != 0 ? 2 * tiles.pair_rows : tiles.rows;
}

}  // namespace executorch::kernels::engine
