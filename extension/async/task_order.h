// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Dependencies between the tasks of a method. The order stated in the program (exir/emit/order.py)
// is checked against the memory effects of the instructions; missing dependencies are added.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/program.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Prefix of the named data with a method's task order; the method's name follows.
inline constexpr char kTaskOrderPrefix[] = "executorch.order.";

/// Tasks are consecutive instructions, in program order.
struct TaskOrder {
  /// End instruction of each task; the first task begins with instruction 0.
  std::vector<uint32_t> ends;
  /// Number of tasks for which each task waits.
  std::vector<uint32_t> waits_for;
  /// Tasks that wait for task t: followers[first_follower[t]] to followers[first_follower[t + 1] -
  /// 1].
  std::vector<uint32_t> first_follower;
  std::vector<uint32_t> followers;
};

/// Returns the order of a loaded method's tasks. It is a single task, which the log reports, if the
/// program states no order or the method cannot be divided; see docs/concurrent-execution.md.
/// @retval Error::InvalidProgram The order is damaged. Error::NotSupported The order has another
/// version. Error::MemoryAllocationFailed The order cannot be allocated.
Result<TaskOrder> load_task_order(const Program& program,
                                  const executorch_flatbuffer::ExecutionPlan& plan,
                                  const MethodBlock& block);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
