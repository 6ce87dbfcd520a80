// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface between the driver of products (driver.h) and their micro-kernels. A micro-kernel,
// called a tile, computes some rows of the left operand times one panel of packed columns, two
// neighboring panels, or all panels:
//
//   out[r, c] = [out[r, c] or bias[r, c]] + sum over parts and d of left[r, part, d] *
//   weights[part, d, c]
//
// In tiles of bfloat16 an element of `left` and of the weights is a pair of neighbors along d, 32
// bits wide as a float is: depth, strides and panels count pairs. Everything around the tiles moves
// pairs as if they were floats.
//
// It reads and writes `count` rows and `count` columns only. The last block of depth adds the
// residual and clamps, and may round its results to pairs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/precision.h>

namespace executorch::kernels::engine {

/// Memory to prefetch.
struct Lines {
  const char *at = nullptr, *end = nullptr;
};

/// Rows of the left operand, each `parts` parts of `depth` elements. Offsets and strides are bytes.
struct LeftRows {
  const float* first = nullptr;  ///< without a table
  size_t stride = 0;             ///< from row to row; rows may overlap
  size_t part_stride = 0;        ///< from part to part
  /// An indirection buffer: for each part `table_rows` pointers, all but `zero` moved by `offset`.
  const float* const* table = nullptr;
  size_t table_rows = 0, offset = 0;
  const float* zero = nullptr;
  size_t parts = 0, depth = 0;
  size_t count = 0;
  /// The rows after these, and where their results go: for tiles of all columns.
  Lines next_rows, next_results;
};

/// The results of some panels, and the beginnings of their sums.
struct OutputTile {
  const float *bias[2], *weights[2];  ///< of the first two panels
  size_t panel_bytes;                 ///< from a panel to the next one
  size_t bias_stride;                 ///< bytes from row to row; 0 where rows share the bias
  float* out;
  size_t row_bytes;
  size_t count;  ///< columns
  bool is_first_block, is_last_block;
  float clamp_min, clamp_max;
  bool has_residual;
  size_t residual;  ///< bytes from a result to its residual, modulo 2^N
  /// Results are pairs of bfloat16, neighboring columns, with an even count of columns: for
  /// GemmTiles::writes_pairs, a single block and no residual.
  bool writes_pairs;
};

/// Weights are read from the last-level cache or memory once, and stay in the second-level cache
/// for all rows. Hardware prefetch is late, so each tile prefetches a share of the next weights.
/// Tiles of all columns have one stream, at[0], for when LeftRows names no memory to prefetch. They
/// prefetch 64 bytes in each step of kDepthStep; tiles of one panel ignore this.
struct Prefetch {
  const char *at[2], *end;  ///< `end` is the first stream's
  size_t lines;             ///< of each stream, for kDepthStep elements of depth
  size_t step;              ///< bytes from these lines to the next ones
};
inline constexpr size_t kDepthStep = 4;
/// From this depth on, a tile of all columns prefetches the rows that it writes. With a smaller
/// depth it ends before they arrive, and LeftRows::next_results names the next tile's.
inline constexpr size_t kMinOutputPrefetchDepth = 64;

using TileFunction = void (*)(const LeftRows&, Prefetch&, const OutputTile&);

inline constexpr size_t kMaxTileRows = 12;

/// When packed columns are read: before they leave the caches, or later, so that their stores may
/// bypass the caches.
enum class PackedUse : uint8_t { Soon, Later };

/// The micro-kernels of one instruction set.
struct GemmTiles {
  InstructionSet set;
  const char* name;
  size_t panel;      ///< columns of a panel, a multiple of 4
  size_t rows;       ///< maximum number of rows in a tile of one panel
  size_t pair_rows;  ///< the same for two panels; 0 without such tiles
  /// The tiles for `columns` (at most two panels), for 1, 2, … rows.
  const TileFunction* (*tiles)(size_t columns);
  /// Writes to[d * panel + r] = from[r * stride + d] for r < rows <= panel and d < depth.
  void (*pack_rows)(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                    size_t panel, PackedUse use);
  Precision precision = Precision::Float32;
  bool takes_all_columns = false;  ///< tiles compute all panels of their rows
  bool writes_pairs = false;       ///< OutputTile::writes_pairs is possible

  /// The number of 32-bit elements for `factors` factors.
  size_t words(size_t factors) const {
    return precision == Precision::BFloat16 ? (factors + 1) / 2 : factors;
  }
};

/// The tiles of the highest set in kernels.inc up to `set`. If none of these sets has tiles for
/// factors of `precision`, the tiles are those of float32.
const GemmTiles& gemm_tiles(InstructionSet set, Precision precision = Precision::Float32);

#define ET_GEMM_TILES(function, factors, set, panel, rows, pair_rows) const GemmTiles& function();
#include <executorch/kernels/engine/gemm/kernels.inc>
#undef ET_GEMM_TILES

}  // namespace executorch::kernels::engine
