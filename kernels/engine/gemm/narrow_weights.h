// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float32 (gemm.h defines them) with constant weights that are bfloat16 or float16. The
// packed weights keep 16 bits, and each becomes the float32 of the same value before it is
// multiplied, so every result has the bits of a float32 Gemm. A product of few rows reads half of
// the memory that Gemm reads; for many rows, blocks of weights are converted in scratch memory
// first.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/gemm/gemm.h>

namespace executorch::kernels::engine {

enum class NarrowType : uint8_t { BFloat16, Float16 };

/// A right operand. Element (d, c) is data[d * depth_stride + c * column_stride].
struct NarrowMatrix {
  const uint16_t* data;
  size_t depth_stride, column_stride;
};

/// A product with a constant right operand of depth x columns. A small value: copy it freely.
class NarrowWeightGemm {
 public:
  /// True for sets with fast conversions.
  static bool is_available(InstructionSet set = instruction_set());
  /// The set must be available.
  static NarrowWeightGemm plan(size_t columns, size_t depth, NarrowType type,
                               InstructionSet set = instruction_set());

  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  /// Identifies the packed form like Gemm::layout(); no two classes share a number.
  uint32_t layout() const;
  /// A multiple of kAlignment; `packed` must be aligned to kAlignment.
  size_t packed_bytes() const;
  /// Writes every byte of `packed`. bias: `columns` floats, or null for zeros.
  void pack(const NarrowMatrix& right, const float* bias, float* packed, Threads& threads) const;
  size_t scratch_bytes(size_t rows, size_t threads) const;
  /// The left operand is float32: left_is_pairs must be false.
  void run(const GemmCall& call, Threads& threads) const;

 private:
  /// Panels that an item of many rows converts at once.
  size_t converted_panels() const;

  const GemmTiles* tiles_ = nullptr;
  size_t columns_ = 0, depth_ = 0;
  NarrowType type_ = NarrowType::BFloat16;
};

}  // namespace executorch::kernels::engine
