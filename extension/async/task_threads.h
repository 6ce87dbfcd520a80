// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads for Method::execute_async(), for applications without a task pool.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include <memory>
#include <vector>

#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/task_pool.h>

namespace executorch::extension {

/// Threads that run tasks in posting order. Executions may share them. Each thread is bound to its
/// share of the allowed processors (processor_share.h). The threads wait for work until the object
/// is destroyed; keep the object between executions. A forked child does not have the threads and
/// must start its own.
class TaskThreads final : public runtime::TaskPool {
 public:
  /// @param count Number of threads, at least 1.
  /// @param kernels Thread pool for dividing a kernel's work; null: each kernel uses one thread.
  /// Must outlive the threads.
  /// @retval Error::InvalidArgument `count` is 0. Error::OutOfResources The system refuses more
  /// threads. Error::MemoryAllocationFailed The threads' data cannot be allocated.
  static runtime::Result<std::shared_ptr<TaskThreads>> start(
      size_t count, threadpool::ThreadPool* kernels = nullptr);
  /// Runs the posted tasks, then stops the threads. No execution may be in progress.
  ~TaskThreads() override;
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  size_t count() const { return threads_.size(); }
  /// Returns whether the threads belong to this process, not to its parent.
  bool are_here() const;
  void post(runtime::Task& task) override;
  /// Posts a task that runs inside the scope.
  void post(runtime::Task& task, runtime::TaskScope& scope);

 private:
  struct Queue;

  TaskThreads(size_t count, threadpool::ThreadPool* kernels, std::unique_ptr<Queue> queue);
  static void* serve(void* self);

  const size_t count_;  // planned size of threads_, which threads may read before it is full
  threadpool::ThreadPool* const kernels_;
  const pid_t process_;
  std::unique_ptr<Queue> queue_;
  std::vector<pthread_t> threads_;
};

}  // namespace executorch::extension
