// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The threads that Method::execute_async() runs on, where the application has none of its own.
#pragma once

#include <pthread.h>
#include <stddef.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include <executorch/extension/async/task_pool.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension {

/// Threads that run tasks in the order in which they are posted. All executions may share them.
class TaskThreads final : public runtime::TaskPool {
 public:
  /// @param count How many, at least 1.
  /// @param kernels What kernels divide their work on; null: they do not, a thread each is what
  /// they have. Must outlive the threads.
  /// @retval Error::InvalidArgument `count` is 0. Error::OutOfResources The system gives no more
  /// threads.
  static runtime::Result<std::shared_ptr<TaskThreads>> start(
      size_t count, threadpool::ThreadPool* kernels = nullptr);
  /// What is posted still runs; no execution may be left.
  ~TaskThreads() override;
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  size_t count() const { return threads_.size(); }
  void post(runtime::Task& task) override;

 private:
  explicit TaskThreads(threadpool::ThreadPool* kernels) : kernels_(kernels) {}
  static void* serve(void* self);
  /// Waits for a task; null at the end.
  runtime::Task* take();

  threadpool::ThreadPool* const kernels_;
  std::mutex mutex_;
  std::condition_variable posted_;
  runtime::Task* first_ = nullptr;
  runtime::Task* last_ = nullptr;
  bool is_ending_ = false;
  std::vector<pthread_t> threads_;
};

}  // namespace executorch::extension
