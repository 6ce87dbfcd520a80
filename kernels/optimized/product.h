// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float32 by the engine.
#pragma once

#include <executorch/kernels/portable/matmul.h>

namespace executorch::kernels::optimized {

/// A portable::FloatProduct: false for operands whose rows are not contiguous, for an addend that
/// is the result, and without temporary memory.
bool multiply_floats(KernelRuntimeContext& ctx, const portable::Product& product);

}  // namespace executorch::kernels::optimized
