// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The future of Method::execute_async().
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

/// An execution that other threads do. The method must neither be moved, nor used in any other way,
/// before done(); then it has its outputs, as after execute(). Functions may be called from any
/// thread, also at the same time.
class Execution final {
 public:
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) = delete;
  /// Cancels what is left and waits for what has begun.
  ~Execution();

  /// Waits for the end. The result is that of execute(): of several instructions that fail at the
  /// same time, the program's first counts.
  /// @retval Error::InvalidState cancel() came before the last instruction, and nothing failed:
  /// was_cancelled().
  [[nodiscard]] Error wait();
  /// Waits that long at most; whether it has ended.
  bool wait_for(uint64_t milliseconds) const;
  bool done() const { return wait_for(0); }

  /// Begins no further instruction. The method can be executed again once done(), as after an
  /// error.
  void cancel();

  /// Returns whether it has ended, before its last instruction, because of cancel().
  bool was_cancelled() const;

  /// Into how many tasks the method is divided; of 1, nothing runs at the same time.
  size_t task_count() const;

 private:
  friend class Method;
  explicit Execution(std::unique_ptr<internal::RunningTasks> running);

  std::unique_ptr<internal::RunningTasks> running_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
