// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of a few rows whose right operand is read where it lies, once, and never packed:
//
//   out[r, c] = sum over d of left[r, d] * right[d, c]
//
// The bits of a row do not depend on the other rows, on the division of columns or on threads.
// Nothing is read or written beyond the operands. `out` must not overlap an input. NaN and
// infinities follow IEEE arithmetic. Any size may be 0; with depth 0 every sum is 0.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/gemm/gemm.h>

namespace executorch::kernels::engine {

/// Rows of one pass over the right operand.
inline constexpr size_t kRowsOfPass = 4;
/// With more rows than this, packing the right operand pays (measured by
/// test/benchmark/kernels.py few_rows). One of the right operand's strides must be 1.
size_t max_few_rows(const RightMatrix& right, size_t depth, InstructionSet set = instruction_set());

struct FewRowsCall {
  size_t rows = 0, columns = 0, depth = 0;
  const float* left = nullptr;
  size_t left_stride = 0;
  RightMatrix right = {};  ///< one of the strides is 1
  float* out = nullptr;
  size_t out_stride = 0;
  /// Adds to `out`, for a right operand of contiguous rows. Calls for four rows of it, or a
  /// multiple, that begin with zeros give the bits of one call for all rows.
  bool adds = false;
};

/// Any number of rows, in passes over columns that stay in the cache meanwhile.
void multiply_few_rows(const FewRowsCall& call, Threads& threads,
                       InstructionSet set = instruction_set());

/// One pass, at most kRowsOfPass rows, for callers that have divided their work. One look-up serves
/// any number of calls.
using FewRowsFunction = void (*)(const FewRowsCall&);
FewRowsFunction few_rows_function(InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
