// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which parts of a method wait for which. The program's word for it (exir/emit/order.py) is checked
// against what the instructions touch: order that is missing is added.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/method_layout.h>
#include <executorch/runtime/executor/program.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Named data of a program under this name, followed by a method's, is the order of its tasks.
inline constexpr char kTaskOrderPrefix[] = "executorch.order.";

/// Tasks are runs of instructions, in the program's order.
struct TaskOrder {
  /// The instruction after each task's last; the first task begins with instruction 0.
  std::vector<uint32_t> ends;
  /// How many tasks each waits for.
  std::vector<uint32_t> waits_for;
  /// Those that wait for task t: followers[first_follower[t]] to before [first_follower[t + 1]].
  std::vector<uint32_t> first_follower;
  std::vector<uint32_t> followers;
};

/// The order of a loaded method's tasks. One task with all instructions, said in the log, if the
/// program states no order, or the method is one that cannot be divided: see
/// docs/concurrent-execution.md.
/// @retval Error::InvalidProgram The order is damaged. Error::NotSupported It is of another
/// version. Error::MemoryAllocationFailed There is no memory for it.
Result<TaskOrder> load_task_order(const Program& program,
                                  const executorch_flatbuffer::ExecutionPlan& plan,
                                  const MethodBlock& block);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
