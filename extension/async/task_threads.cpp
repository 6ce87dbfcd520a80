// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/task_threads.h>

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <executorch/extension/async/processor_share.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

using runtime::Error;
using runtime::Result;
using runtime::Task;
using runtime::TaskScope;

/// Queue of waiting tasks. Only the process that created it may destroy it: after fork() the
/// workers do not exist, and joining them would hang.
struct TaskThreads::Queue {
  std::mutex mutex;
  std::condition_variable posted;
  Task* first = nullptr;
  Task* last = nullptr;
  bool is_ending = false;
  std::atomic<size_t> started{0};

  void add(Task& task) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      task.next = nullptr;
      (first == nullptr ? first : last->next) = &task;
      last = &task;
    }
    posted.notify_one();
  }

  /// Waits for a task; null when the threads must stop.
  Task* take() {
    std::unique_lock<std::mutex> lock(mutex);
    posted.wait(lock, [this] { return first != nullptr || is_ending; });
    Task* const task = first;
    if (task != nullptr) first = task->next;
    return task;
  }

  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      is_ending = true;
    }
    posted.notify_all();
  }
};

TaskThreads::TaskThreads(size_t count, threadpool::ThreadPool* kernels,
                         std::unique_ptr<Queue> queue)
    : count_(count), kernels_(kernels), process_(getpid()), queue_(std::move(queue)) {}

Result<std::shared_ptr<TaskThreads>> TaskThreads::start(size_t count,
                                                        threadpool::ThreadPool* kernels) {
  ET_CHECK_OR_RETURN_ERROR(count > 0, InvalidArgument, "expected at least one thread, found 0");
  std::shared_ptr<TaskThreads> pool;
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("threads", [&] {
    pool.reset(new TaskThreads(count, kernels, std::make_unique<Queue>()));
    pool->threads_.reserve(count);
    return Error::Ok;
  }));
  for (size_t i = 0; i < count; ++i) {
    pthread_t thread;
    // Use pthreads: std::thread reports failures by exceptions.
    ET_CHECK_OR_RETURN_ERROR(pthread_create(&thread, nullptr, serve, pool.get()) == 0,
                             OutOfResources, "the system started %zu threads, expected %zu", i,
                             count);
    pool->threads_.push_back(thread);
  }
  return pool;
}

TaskThreads::~TaskThreads() {
  if (!are_here()) {
    (void)queue_.release();
    return;
  }
  queue_->end();
  for (const pthread_t thread : threads_) {
    pthread_join(thread, nullptr);
  }
}

bool TaskThreads::are_here() const { return getpid() == process_; }

void TaskThreads::post(Task& task) {
  task.scope = nullptr;
  queue_->add(task);
}

void TaskThreads::post(Task& task, TaskScope& scope) {
  task.scope = &scope;
  queue_->add(task);
}

void* TaskThreads::serve(void* self) {
  TaskThreads& pool = *static_cast<TaskThreads*>(self);
  bind_to_processor_share(pool.queue_->started.fetch_add(1), pool.count_);
  const threadpool::ThreadPoolScope scope(pool.kernels_);
  std::optional<threadpool::NoThreadPoolGuard> guard;
  if (pool.kernels_ == nullptr) guard.emplace();
  while (Task* const task = pool.queue_->take()) {
    if (task->scope != nullptr) {
      task->scope->run(*task);
    } else {
      task->run();
    }
  }
  return nullptr;
}

}  // namespace executorch::extension
