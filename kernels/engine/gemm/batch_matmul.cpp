// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products with a variable right operand: a worker packs the columns of its items into its scratch
// memory, once for consecutive items of the same columns.
#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

/// Packed columns of an item: they stay in the second-level cache for its rows.
constexpr size_t kPackedBytes = size_t{256} << 10;
/// Rows of the left operand that are rounded to bfloat16 at once: whole tiles.
constexpr size_t kNarrowedRows = 60;

const GemmTiles& tiles_of(const BatchMatmulCall& call, InstructionSet set) {
  return gemm_tiles(set, profitable_precision(call.precision, call.columns, call.depth));
}

size_t batch_of(const BatchMatmulCall& call) {
  size_t batch = 1;
  for (size_t d = 0; d < call.batch_rank; ++d) batch *= call.batch_sizes[d];
  return batch;
}

/// Maximum number of columns of an item. Independent of the number of threads, and so is a worker's
/// scratch memory.
size_t columns_of_item(const GemmTiles& tiles, const BatchMatmulCall& call) {
  const size_t step = column_step(tiles);
  const size_t fitting = kPackedBytes / sizeof(float) / (1 + tiles.words(call.depth)) / step * step;
  return std::min(std::max(fitting, step), round_up(std::max(call.columns, size_t{1}), step));
}

/// Half of the limit, so that two sizes can be added.
constexpr size_t kMaxFloats = kMaxScratch / 2;

/// A worker's packed columns.
size_t packed_floats(const GemmTiles& tiles, const BatchMatmulCall& call) {
  const size_t panels = columns_of_item(tiles, call) / tiles.panel;
  return round_up(limited_product(panels * tiles.panel, 1 + tiles.words(call.depth), kMaxFloats),
                  kAlignment / sizeof(float));
}

/// At the beginning of a worker's memory: the columns it has packed, counted through the batch from
/// 1; 0 for none.
constexpr size_t kHeaderFloats = kAlignment / sizeof(float);

/// A worker's header, packed columns and rounded rows of the left operand.
size_t worker_floats(const GemmTiles& tiles, const BatchMatmulCall& call) {
  const size_t packed = kHeaderFloats + packed_floats(tiles, call);
  if (tiles.precision == Precision::Float32) return packed;
  const size_t rows = std::min(call.rows, kNarrowedRows);
  return packed + round_up(limited_product(rows, tiles.words(call.depth), kMaxFloats),
                           kAlignment / sizeof(float));
}

/// A product whose left operand has `stride` floats a row, by blocks of rows that are rounded into
/// `narrowed`.
void run_narrowed(Product product, const float* left, size_t stride, size_t depth,
                  float* narrowed) {
  CallingThread alone;
  const size_t rows = product.rows;
  product.left = narrowed;
  product.left_stride = product.depth * sizeof(float);
  for (size_t row = 0; row < rows; row += product.rows) {
    product.rows = std::min(kNarrowedRows, rows - row);
    narrow_rows({left + row * stride, product.rows, stride, 1, depth, narrowed}, alone);
    run_product(product);
    product.next_read = {};
    product.out = moved(product.out, product.rows * product.out_stride);
    if (product.residual != nullptr) {
      product.residual = moved(product.residual, product.rows * product.out_stride);
    }
  }
}

/// A block of the right operand, for tiles to prefetch while another block is multiplied: packing
/// alone waits for memory. Empty for operands with gaps between columns.
Prefetch prefetch_of(const RightMatrix& right, size_t columns, size_t depth) {
  constexpr size_t kLine = 64, kLines = 2;
  Prefetch prefetch = {};
  const char* const at = reinterpret_cast<const char*>(right.data);
  if (right.column_stride == 1) {
    const size_t row_lines = divide_up(columns * sizeof(float), kLine);
    prefetch.lines = divide_up(row_lines, 2);
    prefetch.step = right.depth_stride * sizeof(float);
    prefetch.at[1] = at + (row_lines - prefetch.lines) * kLine;
    prefetch.end = at + depth * prefetch.step;
  } else if (right.depth_stride == 1 && right.column_stride == depth) {
    const size_t half = columns * depth * sizeof(float) / 2;
    prefetch.lines = kLines;
    prefetch.step = kLines * kLine;
    prefetch.at[1] = prefetch.end = at + half;
  }
  prefetch.at[0] = at;
  return prefetch;
}

struct Offsets {
  size_t left = 0, right = 0, out = 0;
};

Offsets offsets_of(const BatchMatmulCall& call, size_t index) {
  Offsets at;
  for (size_t d = call.batch_rank; d-- > 0;) {
    const size_t coordinate = index % call.batch_sizes[d];
    index /= call.batch_sizes[d];
    at.left += coordinate * call.left_batch_strides[d];
    at.right += coordinate * call.right_batch_strides[d];
    at.out += coordinate * call.out_batch_strides[d];
  }
  return at;
}

/// Columns of an item: fewer than `most` if there are too few items for the threads, and the rows
/// of the left operand stay in the second-level cache. So no two workers pack the same columns.
size_t divided_columns(const GemmTiles& tiles, const BatchMatmulCall& call, size_t batch,
                       size_t most, size_t threads) {
  const size_t left_bytes = limited_product(call.rows, call.depth * sizeof(float));
  if (threads == 1 || left_bytes > kPackedBytes) return most;
  const size_t parts = divide_up(kItemsOfThread * threads, batch);
  return std::min(most, round_up(divide_up(call.columns, parts), column_step(tiles)));
}

/// Rows of an item: all, unless that leaves too few items for the threads.
size_t rows_of_item(const BatchMatmulCall& call, size_t items, size_t threads) {
  if (threads == 1 || items >= kItemsOfThread * threads || items == 0) return call.rows;
  const size_t parts = divide_up(kItemsOfThread * threads, items);
  return std::max(divide_up(call.rows, parts), size_t{1});
}

}  // namespace

Precision batch_matmul_precision(const BatchMatmulCall& call, InstructionSet set) {
  return tiles_of(call, set).precision;
}

size_t batch_matmul_scratch_bytes(const BatchMatmulCall& call, size_t threads, InstructionSet set) {
  return limited_product(threads,
                         limited_product(worker_floats(tiles_of(call, set), call), sizeof(float)));
}

void batch_matmul(const BatchMatmulCall& call, void* scratch, Threads& threads,
                  InstructionSet set) {
  const GemmTiles& tiles = tiles_of(call, set);
  const size_t batch = batch_of(call);
  if (batch == 0 || call.rows == 0 || call.columns == 0) return;
  const size_t columns_each =
      divided_columns(tiles, call, batch, columns_of_item(tiles, call), threads.count());
  const size_t column_items = divide_up(call.columns, columns_each);
  const size_t rows_each = rows_of_item(call, batch * column_items, threads.count());
  const size_t row_items = divide_up(call.rows, rows_each);
  const size_t depth = tiles.words(call.depth);
  const size_t of_worker = worker_floats(tiles, call);
  const auto activate = activation_function(call.epilogue.activation, tiles.set);
  const size_t items = batch * column_items * row_items;
  const auto right_of = [&](size_t item, size_t* columns) -> RightMatrix {
    const size_t column = item / row_items % column_items * columns_each;
    *columns = std::min(columns_each, call.columns - column);
    const size_t first = offsets_of(call, item / row_items / column_items).right;
    return {call.right.data + first + column * call.right.column_stride, call.right.depth_stride,
            call.right.column_stride};
  };
  const auto header_of = [&](size_t worker) {
    return reinterpret_cast<size_t*>(static_cast<float*>(scratch) + worker * of_worker);
  };
  for (size_t worker = 0; worker < threads.count(); ++worker) *header_of(worker) = 0;
  for_each_item(threads, items, [&](size_t item, size_t worker) {
    const size_t row = item % row_items * rows_each;
    const size_t column = item / row_items % column_items * columns_each;
    const Offsets at = offsets_of(call, item / row_items / column_items);
    size_t columns = 0, next_columns = 0;
    const RightMatrix right = right_of(item, &columns);
    size_t& last_packed = *header_of(worker);
    float* const packed = reinterpret_cast<float*>(&last_packed) + kHeaderFloats;
    if (last_packed != item / row_items + 1) {
      last_packed = item / row_items + 1;
      pack_panels(tiles, right, call.bias == nullptr ? nullptr : call.bias + column, columns,
                  call.depth, packed);
    }
    Product product;
    product.tiles = &tiles;
    product.rows = std::min(rows_each, call.rows - row);
    product.columns = columns;
    product.depth = depth;
    const float* const left = call.left + at.left + row * call.left_stride;
    product.left = left;
    product.left_stride = call.left_stride * sizeof(float);
    product.packed = packed;
    const size_t to = at.out + row * call.out_stride + column;
    product.write_to(call.out, to, call.out_stride, call.epilogue);
    if (const size_t next_item = item + 1; next_item < items) {
      const RightMatrix next = right_of(next_item, &next_columns);
      if (next.data != right.data) {
        product.next_read = prefetch_of(next, next_columns, call.depth);
      }
    }
    if (tiles.precision == Precision::BFloat16) {
      run_narrowed(product, left, call.left_stride, call.depth,
                   packed + packed_floats(tiles, call));
    } else {
      run_product(product);
    }
    activate_rows(activate, product.out, product.rows, columns, call.out_stride);
  });
}

}  // namespace executorch::kernels::engine
