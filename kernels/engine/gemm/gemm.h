// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float32 matrices:
//
//   out[r, c] = epilogue(bias[c] + sum over d of left[r, d] * right[d, c])
//
// Gemm has a constant right operand, packed once (linear layers, 1 x 1 convolutions);
// batch_matmul() packs its right operand at every call, in scratch memory; few_rows.h packs none.
//
// Packed operand: panels of kernels().panel columns; a panel is its biases, then for each d a row
// of its weights. A last panel with fewer columns is filled up with zeros. Within a tile (rows of
// `left` x columns of one or two panels) each sum is one chain of fused multiply-adds along d, so
// its bits depend only on the instruction set, not on tiles, blocks or threads.
// A plan may round the factors to bfloat16 (precision.h): a panel's rows are then pairs of d, and
// `left` is rounded into scratch memory at every call, unless it is pairs already (bf16.h).
// Strides count floats. No operand is read or written beyond its rows and columns. `out` must not
// overlap an input. Any size may be 0; with depth 0 every sum is the bias. NaN and infinities
// follow IEEE arithmetic; nothing is skipped because a factor is zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// Alignment of packed operands and of scratch memory, in bytes.
inline constexpr size_t kAlignment = 64;

struct GemmTiles;  // gemm/tiles/tiles.h

/// A right operand. Element (d, c) is data[d * depth_stride + c * column_stride]. Packing is
/// fastest if one of the strides is 1.
struct RightMatrix {
  const float* data;
  size_t depth_stride, column_stride;
};

struct GemmCall {
  size_t rows = 0;
  const float* left = nullptr;
  size_t left_stride = 0;
  bool left_is_pairs = false;     ///< of bfloat16 (bf16.h); left_stride counts pairs
  const float* packed = nullptr;  ///< as Gemm::pack() wrote it
  float* out = nullptr;
  size_t out_stride = 0;
  bool out_is_pairs = false;  ///< where Gemm::can_write_pairs(); out_stride counts pairs
  Epilogue epilogue;          ///< with pairs: neither residual nor activation
  void* scratch = nullptr;    ///< Gemm::scratch_bytes(), aligned to kAlignment
};

/// A product with a constant right operand of depth x columns. A small value: copy it freely.
class Gemm {
 public:
  static Gemm plan(size_t columns, size_t depth, InstructionSet set = instruction_set(),
                   Precision precision = Precision::Float32);

  size_t columns() const { return columns_; }
  size_t depth() const { return depth_; }
  /// The precision of the factors: Float32 if rounding was permitted but saves no time.
  Precision precision() const;
  /// True if the results may be pairs of bfloat16 (bf16.h), neighboring columns.
  bool can_write_pairs() const;
  /// Identifies the packed form: equal numbers, sizes and contents give equal bytes. Part of the
  /// key where packed operands are cached.
  uint32_t layout() const;
  /// A multiple of kAlignment; `packed` must be aligned to kAlignment.
  size_t packed_bytes() const;
  /// Writes every byte of `packed`. bias: `columns` floats, or null for zeros.
  void pack(const RightMatrix& right, const float* bias, float* packed, Threads& threads) const;
  size_t scratch_bytes(size_t rows) const;
  void run(const GemmCall& call, Threads& threads) const;

 private:
  const GemmTiles* tiles_ = nullptr;
  size_t columns_ = 0, depth_ = 0;
};

/// A batch of products. Element i of the batch has coordinates in `batch_sizes` (row-major); each
/// operand begins at the sum of coordinate * stride, so a stride of 0 broadcasts it.
struct BatchMatmulCall {
  size_t batch_rank = 0;
  const size_t *batch_sizes = nullptr, *left_batch_strides = nullptr,
               *right_batch_strides = nullptr, *out_batch_strides = nullptr;
  size_t rows = 0, columns = 0, depth = 0;
  const float* left = nullptr;
  size_t left_stride = 0;
  RightMatrix right = {};
  const float* bias = nullptr;  ///< one for each column of every product; null for zeros
  float* out = nullptr;
  size_t out_stride = 0;
  Epilogue epilogue;  ///< its residual has the strides of `out`
  Precision precision = Precision::Float32;
};

/// The precision of the factors: Float32 if the permitted one saves no time.
Precision batch_matmul_precision(const BatchMatmulCall& call,
                                 InstructionSet set = instruction_set());
/// Scratch memory of a call on `threads` threads, in bytes, to be aligned to kAlignment.
size_t batch_matmul_scratch_bytes(const BatchMatmulCall& call, size_t threads,
                                  InstructionSet set = instruction_set());
void batch_matmul(const BatchMatmulCall& call, void* scratch, Threads& threads,
                  InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
