// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of int8 rows, quantized at run time, with constant 4-bit weights that have a scale for
// each group along depth:
//
//   sum[r, c, g] = sum over d of group g of (left[r, d] - zero_point[r]) * (nibble[c, d] - 8)
//   out[r, c] = clamp(row_scale[r] * sum over g of sum[r, c, g] * scale[c, g] + bias[c])
//
// Sums of groups are exact; they are added up in float32 in the order of groups. A decode step is
// bound by reading the weights, so the packed form has only nibbles, scales, and 8 bytes for each
// column. It consists of panels of 16 columns. A panel has the nibbles and then the scales of each
// group; after all groups, the weights' sum times scale and the bias of each column (float32).
//
// There are kernels for AVX2 and for AVX-512 with VNNI; their packed form and results are the same.
// Depth and group are multiples of 32.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct Int4Tiles;  // qgemm/int4_tiles.h

/// Weights by rows of `depth` nibbles, the low nibble of a byte first, one row for each column of
/// the product. Exactly one kind of scales is given.
struct Int4Weights {
  const uint8_t* nibbles;
  const uint16_t* group_scales;  ///< bfloat16 [columns, depth / group], or null
  const float* column_scales;    ///< one a column, where a group is all of depth, or null
};

class Int4Gemm {
 public:
  static constexpr size_t kDepthMultiple = 32;

  /// True if there is a kernel for the set that takes these sizes.
  static bool is_available(size_t depth, size_t group, InstructionSet set = instruction_set());
  /// group: elements of depth that share a scale; `depth` for scales of columns.
  static Int4Gemm plan(size_t columns, size_t depth, size_t group, bool has_column_scales,
                       InstructionSet set = instruction_set());

  /// Identifies the packed form, as Gemm::layout() does.
  uint32_t layout() const;
  /// A multiple of kAlignment; `packed` must be aligned to kAlignment.
  size_t packed_bytes() const;
  /// bias: `columns` floats, or null for zeros.
  void pack(const Int4Weights& weights, const float* bias, void* packed) const;
  /// Scratch memory for sums of the left operand.
  size_t scratch_bytes(size_t rows) const;
  void run(const DynamicQGemmCall& call, void* scratch, Threads& threads) const;

 private:
  const Int4Tiles* tiles_ = nullptr;
  size_t columns_ = 0, depth_ = 0, group_ = 0, groups_ = 0;
  bool has_column_scales_ = false;
};

}  // namespace executorch::kernels::engine
