// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/driver.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kLine = 64;
/// How far ahead the first tile prefetches its own weights. Shorter panels are not prefetched.
constexpr size_t kAhead = 8192;
/// A panel of columns and its neighbor stay in the second-level cache for all rows; longer depths
/// are divided, and the output holds the sums in between.
constexpr size_t kMaxDepth = 1536;
constexpr size_t kDepthOfBlock = 1024;

/// A block of a product's weights: elements `first` to `first + depth` of each part.
struct Block {
  size_t part = 0, parts = 0, first = 0, depth = 0;
};

/// The block after `last`, or the first one for null; its parts are 0 after the last block.
Block next_block(const Product& p, const Block* last) {
  Block next = last == nullptr ? Block{} : *last;
  if (is_one_block(p.parts * p.depth)) {
    next = {0, last == nullptr ? p.parts : 0, 0, p.depth};
  } else if (p.depth <= kDepthOfBlock) {
    next.part += next.parts;
    next.parts = std::min(p.parts - next.part, kDepthOfBlock / p.depth);
    next.depth = p.depth;
  } else {
    const size_t pieces = divide_up(p.depth, kDepthOfBlock);
    const size_t piece = round_up(divide_up(p.depth, pieces), kDepthStep);
    next.first += next.depth;
    if (next.first >= p.depth) {
      next.first = 0;
      ++next.part;
    }
    next.parts = next.part < p.parts ? 1 : 0;
    next.depth = std::min(p.depth - next.first, piece);
  }
  return next;
}

size_t panel_bytes(const Product& p) {
  return panel_floats(*p.tiles, p.parts * p.depth) * sizeof(float);
}

/// Bytes of a panel before a block's weights.
size_t bytes_before(const Product& p, const Block& block) {
  return (1 + block.part * p.depth + block.first) * p.tiles->panel * sizeof(float);
}

size_t block_bytes(const Product& p, const Block& block) {
  return block.parts * block.depth * p.tiles->panel * sizeof(float);
}

const char* weights_of(const Product& p, const Block& block, size_t panel) {
  const float* const packed = moved(p.packed, panel * panel_bytes(p) + bytes_before(p, block));
  return reinterpret_cast<const char*>(packed);
}

/// For so few rows, reading the weights takes all the time, and reading panel by panel is a single
/// stream of memory.
constexpr size_t kRowsOfOneStream = 1;

bool uses_pairs(const Product& p) { return p.tiles->pair_rows != 0 && p.rows > kRowsOfOneStream; }

Prefetch stream_of(const void* at, size_t bytes) {
  Prefetch prefetch = {};
  prefetch.at[0] = static_cast<const char*>(at);
  prefetch.end = prefetch.at[0] + bytes;
  return prefetch;
}

/// next_weights() as one stream: the weights that follow the block's in memory.
Prefetch stream_of_weights(const Product& p, const Block& block, const Block& next) {
  const size_t panels = divide_up(p.columns, p.tiles->panel);
  const bool is_divided = block.parts * block.depth != p.parts * p.depth;
  if (!p.prefetches || (is_divided && panels != 1)) return {};
  if (next.parts != 0) return stream_of(weights_of(p, next, 0), block_bytes(p, next));
  return stream_of(moved(p.packed, panels * panel_bytes(p)), p.next_bytes);
}

/// The `count` rows after `rows` rows of `bytes` bytes each, which begin at `from`; empty if rows
/// have gaps.
Lines lines_of_rows(const float* from, size_t rows, size_t count, size_t bytes, size_t stride) {
  if (stride != bytes) return {};
  const char* const at = reinterpret_cast<const char*>(moved(from, rows * stride));
  return {at, moved(at, count * stride)};
}

/// Weights that all tiles of a block together prefetch: the next block's, or those after the last.
Prefetch next_weights(const Product& p, const Block& block, const Block& next) {
  if (p.tiles->takes_all_columns) return stream_of_weights(p, block, next);
  if (!uses_pairs(p)) return {};
  if (!p.prefetches) return next.parts == 0 ? p.next_read : Prefetch{};
  Prefetch prefetch = {};
  const size_t panel = p.tiles->panel, panels = divide_up(p.columns, panel);
  size_t bytes = 0;
  if (next.parts != 0) {
    prefetch.at[0] = weights_of(p, next, 0);
    prefetch.at[1] = weights_of(p, next, panels > 1 ? 1 : 0);
    bytes = block_bytes(p, next);
  } else {
    const char* const behind =
        reinterpret_cast<const char*>(moved(p.packed, panels * panel_bytes(p)));
    const bool is_divided = block.parts * block.depth != p.parts * p.depth;
    bytes = is_divided ? std::min(block_bytes(p, block), p.next_bytes) : p.next_bytes / 2;
    prefetch.at[0] = behind;
    prefetch.at[1] = moved(behind, is_divided ? panel_bytes(p) : bytes);
  }
  prefetch.end = moved(prefetch.at[0], bytes);
  const size_t pair_rows = p.tiles->pair_rows, pairs = uses_pairs(p) ? panels / 2 : 0;
  const size_t calls = (pairs == 0 ? 0 : pairs * divide_up(p.rows, pair_rows)) +
                       (panels - 2 * pairs) * divide_up(p.rows, p.tiles->rows);
  const size_t steps = calls * block.parts * (block.depth / kDepthStep);
  prefetch.lines = steps == 0 ? 0 : divide_up(bytes / kLine, steps);
  prefetch.step = prefetch.lines * kLine;
  return prefetch;
}

/// left.count rows from `first_row` on times to.count columns, whose packed panels begin at `w`, by
/// a tile of all columns.
void multiply_all_columns(const Product& p, const Block& block, LeftRows& left, OutputTile& to,
                          size_t first_row, const float* w, Prefetch& prefetch) {
  const size_t rows = left.count, next = std::min(rows, p.rows - first_row - rows);
  const size_t depth_bytes = left.depth * sizeof(float);
  left.next_rows = left.next_results = {};
  if (left.table == nullptr) {
    left.next_rows = lines_of_rows(left.first, rows, next, depth_bytes, left.stride);
  }
  if (left.parts * left.depth < kMinOutputPrefetchDepth) {
    left.next_results = lines_of_rows(to.out, rows, next, to.count * sizeof(float), to.row_bytes);
  }
  to.bias[0] = p.row_bias == nullptr ? w : moved(p.row_bias, first_row * to.bias_stride);
  to.weights[0] = moved(w, bytes_before(p, block));
  p.tiles->tiles(to.count)[rows - 1](left, prefetch, to);
}

/// multiply_all_columns() by tiles of one panel or two. Arguments of tiles are updated in place:
/// reading back a partly written copy stalls on store forwarding.
void multiply_rows(const Product& p, const Block& block, LeftRows& left, OutputTile& to,
                   size_t first_row, const float* w, Prefetch& prefetch) {
  const size_t bytes = panel_bytes(p), before = bytes_before(p, block), panel = p.tiles->panel;
  const size_t rows = left.count, columns = to.count;
  const size_t at_once = uses_pairs(p) ? 2 * panel : panel;
  const float* const first = left.first;
  const float* const* const table = left.table;
  float* out = to.out;
  for (size_t left_columns = columns; left_columns != 0; left_columns -= to.count) {
    to.count = std::min(left_columns, at_once);
    const bool is_pair = to.count > panel;
    to.bias[0] = w;
    to.bias[1] = is_pair ? moved(w, bytes) : w;
    to.weights[0] = moved(to.bias[0], before);
    to.weights[1] = moved(to.bias[1], before);
    const TileFunction* const tiles = p.tiles->tiles(to.count);
    const size_t most = is_pair ? p.tiles->pair_rows : p.tiles->rows;
    // Tiles of nearly equal size; divisions take longer than the products of a small tile.
    const size_t tile_rows = rows <= most ? rows : divide_up(rows, divide_up(rows, most));
    for (size_t row = 0; row < rows; row += left.count) {
      left.count = std::min(tile_rows, rows - row);
      if (table != nullptr) {
        left.table = table + row;
      } else {
        left.first = moved(first, row * left.stride);
      }
      to.out = moved(out, row * to.row_bytes);
      if (p.row_bias != nullptr) {
        to.bias[0] = to.bias[1] = moved(p.row_bias, (first_row + row) * to.bias_stride);
      }
      tiles[left.count - 1](left, prefetch, to);
    }
    w = moved(w, at_once / panel * bytes);
    out += p.out_floats(at_once);
  }
  to.count = columns;
}

/// The end of a tile, if all are nearly equal; tiles of one panel have even numbers of rows.
size_t end_of_tile(size_t rows, size_t tile, size_t tiles, bool is_even) {
  const size_t end = rows * tile / tiles;
  return is_even ? std::min(round_up(end, 2), rows) : end;
}

/// All rows times to.count columns from `first` on, in tiles of at most `most` rows. Runs of
/// `tiles_at_once` tiles use the same columns.
void multiply_columns(const Product& p, const Block& block, OutputTile& to, size_t first,
                      size_t most, size_t tiles_at_once, Prefetch& prefetch,
                      const Prefetch& of_next) {
  const size_t before = block.first * sizeof(float);
  LeftRows left;
  left.stride = p.left_stride;
  left.part_stride = p.part_stride;
  left.table_rows = p.table_rows;
  left.parts = block.parts;
  left.offset = p.offset + before;
  left.zero = p.zero;
  left.depth = block.depth;
  const float* const w = moved(p.packed, first / p.tiles->panel * panel_bytes(p));
  const size_t tiles = divide_up(p.rows, most);
  for (size_t row = 0, tile = 0, count = 0; row < p.rows; row += count) {
    tile = std::min(tile + tiles_at_once, tiles);
    count = p.table != nullptr ? std::min(p.table_rows, p.rows - row)
                               : end_of_tile(p.rows, tile, tiles, tiles_at_once == 1) - row;
    left.count = count;
    if (p.table != nullptr) {
      left.table = p.table + row * p.parts + block.part * p.table_rows;
    } else {
      left.first = moved(p.left, row * p.left_stride + block.part * p.part_stride + before);
    }
    to.out = moved(p.out, row * p.out_stride) + p.out_floats(first);
    (p.tiles->takes_all_columns ? multiply_all_columns : multiply_rows)(p, block, left, to, row, w,
                                                                        prefetch);
    if (first == 0 && row == 0 && !p.tiles->takes_all_columns) prefetch = of_next;
  }
}

void multiply_block(const Product& p, const Block& block, bool is_first, const Block& next) {
  OutputTile to = {};
  to.row_bytes = p.out_stride;
  to.panel_bytes = panel_bytes(p);
  to.bias_stride = p.row_bias == nullptr ? 0 : p.tiles->panel * sizeof(float);
  to.is_first_block = is_first;
  to.is_last_block = next.parts == 0;
  to.writes_pairs = p.writes_pairs;
  to.clamp_min = p.clamp_min;
  to.clamp_max = p.clamp_max;
  to.has_residual = p.residual != nullptr;
  to.residual = reinterpret_cast<uintptr_t>(p.residual) - reinterpret_cast<uintptr_t>(p.out);
  const Prefetch of_next = next_weights(p, block, next);
  Prefetch prefetch = of_next;
  if (is_first && uses_pairs(p) && p.prefetches && block_bytes(p, block) >= 2 * kAhead) {
    const char* const own = weights_of(p, block, 0);
    prefetch.at[0] = own + kAhead;
    prefetch.at[1] = weights_of(p, block, p.columns > p.tiles->panel ? 1 : 0) + kAhead;
    prefetch.end = own + block_bytes(p, block);
    prefetch.step = kDepthStep * p.tiles->panel * sizeof(float);
    prefetch.lines = prefetch.step / kLine;
  }
  // A last panel without a neighbor takes more rows at once.
  const size_t panel = p.tiles->panel, rest = p.columns % (2 * panel);
  const size_t alone = !uses_pairs(p) ? p.columns : rest <= panel ? rest : 0;
  to.count = p.columns - alone;
  if (to.count != 0) {
    multiply_columns(p, block, to, 0, p.tiles->pair_rows, 2, prefetch, of_next);
  }
  to.count = alone;
  if (to.count != 0) {
    multiply_columns(p, block, to, p.columns - alone, p.tiles->rows, 1, prefetch, of_next);
  }
}

}  // namespace

bool is_one_block(size_t depth) { return depth <= kMaxDepth; }

void run_product(const Product& product) {
  if (product.rows == 0 || product.columns == 0) return;
  Block block = next_block(product, nullptr);
  bool is_first = true;
  do {
    const Block next = next_block(product, &block);
    multiply_block(product, block, is_first, next);
    block = next;
    is_first = false;
  } while (block.parts != 0);
}

}  // namespace executorch::kernels::engine
