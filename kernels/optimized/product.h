// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float32, float16 and bfloat16 by the engine.
#pragma once

#include <executorch/kernels/engine/threads.h>
#include <executorch/kernels/portable/gemm/matmul.h>

namespace executorch::kernels::optimized {

/// Multiplications that are worth the start of a thread: about 5 us.
inline constexpr size_t kMinProductWork = 1 << 18;
/// The same for products of few rows, which wait for their right operand: 128 KB of it, about 3 us.
inline constexpr size_t kMinFewRowsWork = 1 << 15;

inline size_t work_of(const portable::Product& p) {
  return size_t(p.out.batch * p.out.rows * p.out.columns) * size_t(p.left.columns);
}

/// True if the product of float32 has so few rows that the engine does not pack its right operand.
bool has_few_rows(const portable::Product& product);
/// Scratch memory of multiply_float32(), to be aligned to engine::kAlignment.
size_t float32_scratch_bytes(const portable::Product& product, size_t threads);
/// A product of float32 whose left operand and result have contiguous rows, and whose addend is
/// not the result. Computes in few_rows.h if `is_few` is true.
void multiply_float32(const portable::Product& product, bool is_few, void* scratch,
                      engine::Threads& threads);

/// A product of float16 or bfloat16: blocks of the operands are converted to float32, multiplied,
/// and their sums rounded once. The bits depend only on the instruction set. Returns false,
/// without a result, if temporary memory is missing.
bool multiply_reduced(KernelRuntimeContext& ctx, const portable::Product& product);

/// A portable::FloatProduct. Returns false for operands of float32 without contiguous rows, for an
/// addend that is the result, and without temporary memory.
bool multiply_floats(KernelRuntimeContext& ctx, const portable::Product& product);

}  // namespace executorch::kernels::optimized
