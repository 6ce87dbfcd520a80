// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which values may refer to memory that must not be written to: the data of the program's file,
// which may be mapped read-only, and data from outside of it.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Sets is_constant[i] for every value that is a constant tensor, or may become one: by a MoveCall,
/// or as a view of one. Errs on the side of "constant". `is_constant` has an element for each
/// value.
void mark_constant_values(const executorch_flatbuffer::ExecutionPlan& plan, Span<bool> is_constant);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
