// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface between the drivers of int8 products and their micro-kernels: a micro-kernel
// computes a few rows times any number of packed columns (qgemm.h), so that it prepares its rows
// once for them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>

namespace executorch::kernels::engine {

/// Bytes after a part that a kernel may read if it may read beyond at all.
inline constexpr size_t kReadBeyond = 15;

/// Memory that is read after a tile. Hardware prefetch is late, so tiles may prefetch shares of it.
struct QAhead {
  struct Stream {
    const int8_t *at = nullptr, *end = nullptr;
  };
  Stream rows, panels;

  /// The beginning of the next `bytes` bytes; `otherwise` if none are left.
  const int8_t* take(size_t bytes, const int8_t* otherwise) {
    Stream& stream = rows.at < rows.end ? rows : panels;
    const int8_t* const at = stream.at;
    if (at >= stream.end) return otherwise;
    stream.at = moved(at, bytes);
    return at;
  }
};

/// Rows of the left operand, each `parts` parts of `depth` elements.
struct QLeftRows {
  const int8_t* first = nullptr;  ///< without a table: one part, `stride` bytes from row to row
  size_t stride = 0;
  /// An indirection buffer: for each part `table_rows` pointers, moved by `offset` bytes; those to
  /// `zero` are read from zero_data.
  const int8_t* const* table = nullptr;
  size_t table_rows = 0, offset = 0;
  const int8_t *zero = nullptr, *zero_data = nullptr;
  size_t parts = 1, depth = 0;
  size_t count = 0;
  bool may_read_beyond = false;  ///< kReadBeyond bytes after each part, whose values do not matter
  QAhead* ahead = nullptr;       ///< may be null

  const int8_t* row(size_t part, size_t index) const {
    if (table == nullptr) return first + index * stride;
    const int8_t* const from = table[part * table_rows + index];
    return from == zero ? zero_data : moved(from, offset);
  }
  /// As many contiguous rows after these, of `remaining` rows from the first of these on.
  QAhead::Stream rows_after(size_t remaining) const {
    if (table != nullptr || stride != depth) return {};
    const int8_t* const at = first + count * stride;
    return {at, at + std::min(count, remaining - count) * stride};
  }
};

/// How sums of a dynamic product become floats.
struct QDynamic {
  const RowQuantization* parameters;
  size_t step;  ///< 1: one a row; 0: one for all rows
  float clamp_min, clamp_max;

  const RowQuantization& row(size_t index) const { return parameters[index * step]; }
};

/// For second-level caches of 256 KiB and more.
inline constexpr size_t kItemWeightBytes = size_t{192} << 10;

struct QGemmTiles {
  InstructionSet set;
  const char* name;
  size_t rows, panel, interleave;
  int32_t offset;            ///< added to each element of the left operand to make it unsigned
  size_t item_weight_bytes;  ///< of the columns of an item: a part of the second-level cache
  void (*to_bytes)(const QLeftRows&, const int8_t* packed, size_t columns, int8_t* out,
                   size_t out_stride, const Requantization&);
  void (*to_floats)(const QLeftRows&, const int8_t* packed, size_t columns, float* out,
                    size_t out_stride, const QDynamic&);

  size_t padded(size_t depth) const { return round_up(depth, interleave); }
  /// Bytes of a packed panel, by its parts.
  size_t sums_bytes() const { return panel * sizeof(int32_t); }
  size_t weights_bytes(size_t parts, size_t depth) const { return parts * padded(depth) * panel; }
  size_t panel_bytes(size_t parts, size_t depth) const {
    return sums_bytes() + weights_bytes(parts, depth) + 2 * panel * sizeof(float);
  }
};

/// A number that differs where tiles pack weights differently.
inline uint32_t layout_of(const QGemmTiles& tiles) {
  return uint32_t(tiles.offset) << 24 | uint32_t(tiles.interleave) << 16 | uint32_t(tiles.panel);
}

/// The tiles of the highest set in kernels.inc up to `set` that this processor has.
const QGemmTiles& qgemm_tiles(InstructionSet set);

/// One panel's operand: element (part, d, c).
struct QPanelWeights {
  const int8_t* data;
  size_t part_stride[2];  ///< of rows of a window, of their pixels
  size_t parts_across;    ///< pixels of a row of a window
  size_t run;             ///< elements of depth that lie depth_stride apart; the next run begins
  size_t run_stride;      ///< from the beginning of a run to the next
  size_t depth_stride, column_stride;
  size_t parts, depth, columns;
};

/// Packs a panel, whose columns begin with column `first`.
void pack_qpanel(const QGemmTiles& tiles, const QPanelWeights& weights, const QColumns& columns,
                 size_t first, int8_t* to);

#define ET_QGEMM_TILES(function, set) const QGemmTiles& function();
#include <executorch/kernels/engine/qgemm/kernels.inc>
#undef ET_QGEMM_TILES

}  // namespace executorch::kernels::engine
