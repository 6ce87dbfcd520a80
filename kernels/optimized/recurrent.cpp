// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/recurrent/kernels.h>

namespace executorch::kernels::optimized {
namespace {

RecurrentLoops loops() { return {isa().gemm, isa().cells}; }

}  // namespace

EXECUTORCH_RECURRENT_KERNELS(loops())

}  // namespace executorch::kernels::optimized
