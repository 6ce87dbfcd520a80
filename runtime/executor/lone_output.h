// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which inputs and outputs could as well be elsewhere than where the plan has them.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Whether the tensor that is output `index` of the method is nothing but the result of one
/// instruction: its last argument, an argument of no other, no input, and alone in its planned
/// memory. Then no value depends on where it is. (Arguments of kernels and delegates end with what
/// they write.)
bool is_lone_output(const executorch_flatbuffer::ExecutionPlan& plan, size_t index);

/// Whether the tensor that is input `index` of the method has constant sizes, is read by delegates
/// only, and is alone in its planned memory. (A kernel may write to any of its arguments.)
bool is_lone_input(const executorch_flatbuffer::ExecutionPlan& plan, size_t index);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
