// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Execution: the future returned by Method::execute_async(), and the interfaces behind it. The
// runtime starts no threads: extension/async implements them on the threads of a TaskPool.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/method.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// One execution on other threads. The method outlives it.
class RunningTasks {
 public:
  virtual ~RunningTasks() = default;
  RunningTasks(const RunningTasks&) = delete;
  RunningTasks& operator=(const RunningTasks&) = delete;

  /// The functions of Execution.
  virtual Error wait() = 0;
  virtual bool wait_for(uint64_t milliseconds) = 0;
  virtual void cancel() = 0;
  virtual bool was_cancelled() = 0;
  virtual size_t task_count() const = 0;

 protected:
  explicit RunningTasks(Method& method) : method_(method) {}

  /// Runs instruction *next and sets it to the following one. Thread-safe for different tasks.
  Error run_at(size_t* next, KernelRuntimeContext& context) {
    return method_.run_at(next, context);
  }
  void log_failure(size_t instruction, Error error) { method_.log_failure(instruction, error); }
  /// Maximum number of instructions that loops may run; 0: no limit.
  size_t instruction_budget() const { return method_.loop_limits_.budget; }
  Error log_used_budget(size_t instruction) const { return method_.log_used_budget(instruction); }
  /// Makes the method ready for its next execution, after the last task.
  void end(Error result, bool budget_is_used_up) {
    if (budget_is_used_up) method_.loop_limits_.left = Method::kUsedUp;
    method_.end_async(result);
  }

 private:
  Method& method_;
};

}  // namespace internal

/// An execution on other threads. Until done(), the method must not be moved, destroyed, queried or
/// given limits, and its functions that set inputs or outputs or execute return
/// Error::InvalidState. Afterwards it has its outputs, as after execute(). All functions are
/// thread-safe. An object that was moved from has ended, with Error::InvalidState.
class Execution final {
 public:
  Execution(Execution&&) noexcept = default;
  Execution& operator=(Execution&&) = delete;
  /// Cancels the remaining tasks and waits for the running ones.
  ~Execution() {
    if (running_ != nullptr) {
      running_->cancel();
      (void)running_->wait();
    }
  }

  /// Waits for the end and returns the result of execute(). Reports the earliest error in program
  /// order.
  /// @retval Error::InvalidState cancel() stopped the execution before its last instruction and no
  /// instruction failed; see was_cancelled().
  [[nodiscard]] Error wait() {
    ET_CHECK_OR_RETURN_ERROR(running_ != nullptr, InvalidState,
                             "wait() of an execution that was moved to another object");
    return running_->wait();
  }
  /// Waits at most this long; returns whether the execution has ended.
  bool wait_for(uint64_t milliseconds) const {
    return running_ == nullptr || running_->wait_for(milliseconds);
  }
  bool done() const { return wait_for(0); }

  /// Starts no further instruction. After done(), the method can be executed again, as after an
  /// error.
  void cancel() {
    if (running_ != nullptr) running_->cancel();
  }

  /// Returns whether cancel() ended the execution before its last instruction.
  bool was_cancelled() const { return running_ != nullptr && running_->was_cancelled(); }

  /// Number of tasks into which the method is divided. With 1, nothing runs concurrently.
  size_t task_count() const { return running_ == nullptr ? 0 : running_->task_count(); }

 private:
  friend class Method;
  explicit Execution(std::unique_ptr<internal::RunningTasks> running)
      : running_(std::move(running)) {}

  std::unique_ptr<internal::RunningTasks> running_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
