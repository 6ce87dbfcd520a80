// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Execution: the future returned by Method::execute_async().
#pragma once

#include <stddef.h>

#include <memory>

#include <executorch/extension/async/task_pool.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/executor/method.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace internal {
class RunningTasks;
}  // namespace internal

/// An execution on other threads. Until done(), the method must not be moved or used in any other
/// way. Afterwards it has its outputs, as after execute(). All functions are thread-safe.
class Execution final {
 public:
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) = delete;
  /// Cancels the remaining tasks and waits for the running ones.
  ~Execution();

  /// Waits for the end and returns the result of execute(). Reports the earliest error in program
  /// order.
  /// @retval Error::InvalidState cancel() stopped the execution before its last instruction and no
  /// instruction failed; see was_cancelled().
  [[nodiscard]] Error wait();
  /// Waits at most this long; returns whether the execution has ended.
  bool wait_for(uint64_t milliseconds) const;
  bool done() const { return wait_for(0); }

  /// Starts no further instruction. After done(), the method can be executed again, as after an
  /// error.
  void cancel();

  /// Returns whether cancel() ended the execution before its last instruction.
  bool was_cancelled() const;

  /// Number of tasks into which the method is divided. With 1, nothing runs concurrently.
  size_t task_count() const;

 private:
  friend class Method;
  explicit Execution(std::unique_ptr<internal::RunningTasks> running);

  std::unique_ptr<internal::RunningTasks> running_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
