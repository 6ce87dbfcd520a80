// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/few_rows.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/division.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/gemm/few_rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// Columns of an item: its results stay in the first-level cache, and begin a line of 16 floats.
constexpr size_t kMaxColumns = 2048, kColumnStep = 16;
/// Floats of the right operand that stay in the second-level cache between passes. Contiguous rows
/// are not divided, because reading short pieces is slower than reading the whole operand again.
constexpr size_t kCachedFloats = size_t{64} << 10;

size_t columns_of_item(const FewRowsCall& call, size_t threads) {
  size_t most = kMaxColumns;
  if (call.rows > kRowsOfPass && call.right.depth_stride == 1) {
    most =
        std::min(most, kCachedFloats / std::max(call.depth, size_t{1}) / kColumnStep * kColumnStep);
  }
  const size_t items = threads == 1 ? 1 : kItemsOfThread * threads;
  const size_t even = round_up(divide_up(call.columns, items), kColumnStep);
  return std::max(std::min(even, most), kColumnStep);
}

}  // namespace

size_t max_few_rows(const RightMatrix& right, size_t depth, InstructionSet set) {
  constexpr size_t kMaxRows = 16, kDeep = 2048;
  if (set != InstructionSet::Avx2) return kMaxRows;
  // Packing rows of a deep operand reads one cache line of each page: reading all rows is faster.
  if (right.depth_stride != 1) return depth <= kDeep ? 10 : kMaxRows;
  // Deep columns leave the first-level cache between two passes.
  return depth < kDeep / 2 ? kMaxRows : depth < kDeep ? 10 : 7;
}

FewRowsFunction few_rows_function(InstructionSet set) { return ET_SIMD_FUNCTION(set, few_rows); }

void multiply_few_rows(const FewRowsCall& call, Threads& threads, InstructionSet set) {
  const FewRowsFunction function = few_rows_function(set);
  const size_t item_columns = columns_of_item(call, threads.count());
  for_each_item(threads, divide_up(call.columns, item_columns), [&](size_t item, size_t) {
    FewRowsCall part = call;
    const size_t column = item * item_columns;
    part.columns = std::min(item_columns, call.columns - column);
    part.right.data += column * call.right.column_stride;
    for (size_t row = 0; row < call.rows; row += kRowsOfPass) {
      part.rows = std::min(kRowsOfPass, call.rows - row);
      part.left = call.left + row * call.left_stride;
      part.out = call.out + row * call.out_stride + column;
      function(part);
    }
  });
}

}  // namespace executorch::kernels::engine
