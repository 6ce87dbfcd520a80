// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float32 by the engine.
#pragma once

#include <executorch/kernels/portable/gemm/matmul.h>

namespace executorch::kernels::optimized {

/// A portable::FloatProduct. Returns false if rows of an operand are not contiguous, if the addend
/// is the result, or if temporary memory is missing.
bool multiply_floats(KernelRuntimeContext& ctx, const portable::Product& product);

}  // namespace executorch::kernels::optimized
