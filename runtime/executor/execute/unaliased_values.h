// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Finds inputs and outputs whose planned memory nothing else depends on.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Sets kUnaliasedOutput and kUnaliasedInput in block.flags, for all values at once. Time is linear
/// in the program's size, plus sorting inputs and outputs by their places.
///
/// An output is unaliased if it is the last argument of one instruction, an argument of no other,
/// not an input, and alone in its planned memory. Then no value depends on where it is. (Kernels
/// and delegates list the arguments that they write last.) An input is unaliased if it has constant
/// sizes, only delegates read it, nothing writes to it, and it is alone in its planned memory. (A
/// kernel may write to any of its arguments.)
///
/// Takes temporary memory for methods with more than 16 such inputs and outputs.
/// @retval Error::MemoryAllocationFailed There is too little; no value is marked.
Error mark_unaliased_values(const executorch_flatbuffer::ExecutionPlan& plan,
                            const MethodBlock& block, MemoryAllocator& temp);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
