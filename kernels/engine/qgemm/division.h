// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How int8 products are divided into items for threads. The division changes no result.
#pragma once

#include <algorithm>
#include <cstddef>

#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

struct QItem {
  size_t product, row, rows, column, columns;
};

struct QDivision {
  size_t rows, columns;  ///< of an item
  size_t products, row_items, column_items;

  size_t items() const { return products * row_items * column_items; }
  QItem at(size_t item, size_t all_rows, size_t all_columns) const {
    const size_t row = item % row_items * rows;
    const size_t column = item / row_items % column_items * columns;
    return {item / row_items / column_items, row, std::min(rows, all_rows - row), column,
            std::min(columns, all_columns - column)};
  }
};

/// Columns whose weights fit a part of the second-level cache; rows for a few items a thread.
inline QDivision divide(const QGemmTiles& tiles, size_t products, size_t rows, size_t columns,
                        size_t depth, size_t threads, size_t max_rows = ~size_t{0}) {
  constexpr size_t kItemsOfThread = 8;
  QDivision division = {0, 0, products, 0, 0};
  if (products == 0 || rows == 0 || columns == 0) return division;
  const size_t fitting = tiles.item_weight_bytes / (depth + 8) / tiles.panel * tiles.panel;
  division.columns = std::min(std::max(fitting, tiles.panel), round_up(columns, tiles.panel));
  division.column_items = divide_up(columns, division.columns);
  const size_t wanted = threads == 1 ? 1 : threads * kItemsOfThread;
  const size_t parts = divide_up(wanted, products * division.column_items);
  const size_t part = round_up(divide_up(rows, parts), tiles.rows);
  division.rows = std::max(std::min({part, max_rows, rows}), size_t{1});
  division.row_items = divide_up(rows, division.rows);
  return division;
}

/// The panels of the next item, if it has other columns than an item whose panels begin at
/// `packed`.
inline QAhead::Stream panels_after(const QItem& item, size_t all_rows, size_t all_columns,
                                   const int8_t* packed, size_t panel, size_t panel_bytes) {
  if (item.row + item.rows != all_rows) return {};
  const size_t columns = std::min(item.columns, all_columns - item.column - item.columns);
  const int8_t* const at = packed + divide_up(item.columns, panel) * panel_bytes;
  return {at, at + divide_up(columns, panel) * panel_bytes};
}

}  // namespace executorch::kernels::engine
