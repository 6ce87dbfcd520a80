// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// One log line for a kernel or delegate that failed: its name, method and instruction, and what
/// its arguments were.
void log_call_failure(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block,
                      size_t instruction, Error error);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
