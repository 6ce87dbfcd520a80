// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The threads that Method::execute_async() runs on, where the application has none of its own.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include <memory>
#include <vector>

#include <executorch/extension/async/task_pool.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension {

/// Threads that run tasks in the order in which they are posted. All executions may share them.
/// Each keeps to its share of the processors that the process may use (processor_share.h).
/// They wait for work until the object is destroyed: whoever executes often keeps it. A process
/// that fork() makes has none of them, and starts its own.
class TaskThreads final : public runtime::TaskPool {
 public:
  /// @param count How many, at least 1.
  /// @param kernels What kernels divide their work on; null: they do not, a thread each is what
  /// they have. Must outlive the threads.
  /// @retval Error::InvalidArgument `count` is 0. Error::OutOfResources The system gives no more
  /// threads. Error::MemoryAllocationFailed There is no memory for them.
  static runtime::Result<std::shared_ptr<TaskThreads>> start(
      size_t count, threadpool::ThreadPool* kernels = nullptr);
  /// What is posted still runs; no execution may be left.
  ~TaskThreads() override;
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  size_t count() const { return threads_.size(); }
  /// Returns whether they are this process's, and not its parent's.
  bool are_here() const;
  void post(runtime::Task& task) override;
  /// The scope runs the task.
  void post(runtime::Task& task, runtime::TaskScope& scope);

 private:
  struct Queue;

  TaskThreads(size_t count, threadpool::ThreadPool* kernels, std::unique_ptr<Queue> queue);
  static void* serve(void* self);

  const size_t count_;  // what threads_ is to have; they run before it does
  threadpool::ThreadPool* const kernels_;
  const pid_t process_;
  std::unique_ptr<Queue> queue_;
  std::vector<pthread_t> threads_;
};

}  // namespace executorch::extension
