// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which inputs survive an execution. A plan may use an input's memory for other values once the
// input is not needed any more; whoever executes again without setting such an input would compute
// with what was left there.
#pragma once

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/method_layout.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Sets Input::is_consumed of every input whose planned memory an instruction writes to for another
/// value, or whose value a MoveCall replaces. Errs on the side of "consumed".
void mark_consumed_inputs(const executorch_flatbuffer::ExecutionPlan& plan, Span<Input> inputs);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
