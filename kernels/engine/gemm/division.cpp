// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/division.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>

namespace executorch::kernels::engine {
namespace {

/// A quarter of the second-level cache of common processors; 64 to 256 KiB are equally fast.
constexpr size_t kWeightBytes = size_t{128} << 10;
/// With fewer columns, or rows of fewer elements, rounding an element takes as much time as its
/// products save.
constexpr size_t kMinNarrowedColumns = 16, kMinNarrowedDepth = 8;

size_t columns_of_item(const GemmTiles& tiles, const DividedProduct& p) {
  const size_t step = column_step(tiles);
  const size_t fitting = kWeightBytes / ((1 + p.depth) * sizeof(float)) / step * step;
  return std::min(std::max(fitting, step), round_up(p.columns, step));
}

}  // namespace

Precision profitable_precision(Precision permitted, size_t columns, size_t depth) {
  return columns < kMinNarrowedColumns || depth < kMinNarrowedDepth ? Precision::Float32
                                                                    : permitted;
}

Division divide(const GemmTiles& tiles, const DividedProduct& p, size_t threads) {
  Division division = {};
  if (p.rows == 0 || p.columns == 0) return division;
  division.columns = columns_of_item(tiles, p);
  division.column_items = divide_up(p.columns, division.columns);
  const size_t items = p.images * division.column_items;
  size_t rows = std::min(p.rows, p.max_rows);
  if (p.activation != Activation::None) {  // applied to results that are still cached
    const size_t fitting = kWeightBytes / sizeof(float) / division.columns;
    rows = std::min(rows, std::max(fitting / p.row_step, size_t{1}) * p.row_step);
  }
  const bool is_uneven = items % threads != 0 && items < kItemsOfThread * threads;
  if (threads > 1 && (items < 2 * threads || is_uneven)) {
    const size_t parts = divide_up(threads * kItemsOfThread, items);
    rows = std::min(rows, round_up(divide_up(p.rows, parts), p.row_step));
  }
  // Blocks of nearly equal size: a short last one would take about as long as a whole one.
  const size_t even = divide_up(p.rows, divide_up(p.rows, rows));
  division.rows = std::min(round_up(even, p.row_step), std::max(rows, size_t{1}));
  division.row_items = divide_up(p.rows, division.rows);
  return division;
}

}  // namespace executorch::kernels::engine
