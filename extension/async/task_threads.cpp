// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/task_threads.h>

#include <optional>

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

using runtime::Error;
using runtime::Result;
using runtime::Task;

Result<std::shared_ptr<TaskThreads>> TaskThreads::start(size_t count,
                                                        threadpool::ThreadPool* kernels) {
  ET_CHECK_OR_RETURN_ERROR(count > 0, InvalidArgument, "expected at least one thread, found 0");
  std::shared_ptr<TaskThreads> pool(new TaskThreads(kernels));
  for (size_t i = 0; i < count; ++i) {
    pthread_t thread;
    // std::thread tells of a failure by an exception.
    ET_CHECK_OR_RETURN_ERROR(pthread_create(&thread, nullptr, serve, pool.get()) == 0,
                             OutOfResources, "the system gave %zu threads, expected %zu", i, count);
    pool->threads_.push_back(thread);
  }
  return pool;
}

TaskThreads::~TaskThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  posted_.notify_all();
  for (const pthread_t thread : threads_) {
    pthread_join(thread, nullptr);
  }
}

void TaskThreads::post(Task& task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    task.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &task;
    last_ = &task;
  }
  posted_.notify_one();
}

Task* TaskThreads::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  posted_.wait(lock, [this] { return first_ != nullptr || is_ending_; });
  Task* const task = first_;
  if (task != nullptr) first_ = task->next;
  return task;
}

void* TaskThreads::serve(void* self) {
  TaskThreads& pool = *static_cast<TaskThreads*>(self);
  const threadpool::ThreadPoolScope scope(pool.kernels_);
  std::optional<threadpool::NoThreadPoolGuard> guard;
  if (pool.kernels_ == nullptr) guard.emplace();
  while (Task* const task = pool.take()) {
    task->run();
  }
  return nullptr;
}

}  // namespace executorch::extension
