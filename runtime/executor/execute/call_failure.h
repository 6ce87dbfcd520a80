// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Logs a failed kernel or delegate in one line: its name, method and instruction, and its
/// arguments.
void log_call_failure(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block,
                      size_t instruction, Error error);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
