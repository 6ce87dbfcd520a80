// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/threadpool.h>

#include <map>

#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/cores.h>
#include <executorch/extension/threadpool/lasting.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/extension/threadpool/workers.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/kernel/parallel.h>

namespace executorch::extension::threadpool {
namespace {

using runtime::Result;

thread_local ThreadPool* chosen = nullptr;
thread_local bool no_pool = false;

size_t count_or_default(size_t thread_count) {
  return thread_count == 0 ? usable_cores() : thread_count;
}

// Kernels of programs that link this file use the calling thread's pool.
constexpr runtime::Parallel kForKernels = {
    [] { return no_pool ? size_t(1) : get_threadpool()->get_thread_count(); },
    [](runtime::FunctionRef<void(size_t)> task, size_t count) {
      get_threadpool()->run(task, count);
    }};
[[maybe_unused]] const bool kOffered = (runtime::set_parallel(&kForKernels), true);

struct PoolsBySize {
  std::mutex mutex;
  std::map<size_t, std::weak_ptr<ThreadPool>> pools;
};

Result<std::shared_ptr<ThreadPool>> shared_of_size(size_t count) {
  PoolsBySize& known = lasting<PoolsBySize>();
  const std::lock_guard<std::mutex> lock(known.mutex);
  std::weak_ptr<ThreadPool>& place = known.pools[count];
  std::shared_ptr<ThreadPool> pool = place.lock();
  if (pool == nullptr) {
    pool = std::make_shared<ThreadPool>(count);
    place = pool;
  }
  return pool;
}

}  // namespace

ThreadPool::ThreadPool(size_t thread_count) : thread_count_(count_or_default(thread_count)) {}

std::shared_ptr<ThreadPool> ThreadPool::of_size(size_t thread_count) {
  const size_t count = count_or_default(thread_count);
  const bool is_alone = count == 1 && thread_count != 0;
  if (!is_alone && default_threadpool()->get_thread_count() == count) {
    return default_threadpool();
  }
  Result<std::shared_ptr<ThreadPool>> pool =
      or_no_memory("a thread pool", [&]() -> Result<std::shared_ptr<ThreadPool>> {
        return is_alone ? std::make_shared<ThreadPool>(1) : shared_of_size(count);
      });
  return pool.ok() ? std::move(*pool) : nullptr;
}

size_t ThreadPool::get_thread_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return thread_count_;
}

std::shared_ptr<pthreadpool> ThreadPool::workers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (workers_ == nullptr && thread_count_ > 1) {
    workers_ = start_workers(thread_count_);
    if (workers_ == nullptr) {  // The system gives no more threads.
      thread_count_ = 1;
    }
  }
  return workers_;
}

void ThreadPool::run(runtime::FunctionRef<void(size_t)> fn, size_t range) {
  const std::shared_ptr<pthreadpool> threads = no_pool || range < 2 ? nullptr : workers();
  if (threads == nullptr) {
    for (size_t i = 0; i < range; ++i) {
      fn(i);
    }
    return;
  }
  run_on_workers(
      threads.get(),
      [&fn](size_t i) {
        // A task that waited for the pool it runs on would wait forever.
        const NoThreadPoolGuard guard;
        fn(i);
      },
      range);
}

bool ThreadPool::_unsafe_reset_threadpool(uint32_t num_threads) {
  const size_t count = num_threads == 0 ? count_or_default(0) : num_threads;
  std::shared_ptr<pthreadpool> started;
  if (count > 1) {
    started = start_workers(count);
    if (started == nullptr) {
      return false;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_count_ = count;
  workers_.swap(started);
  return true;
}

void ThreadPool::_unsafe_destroy_threadpool() {
  std::shared_ptr<pthreadpool> ended;
  const std::lock_guard<std::mutex> lock(mutex_);
  workers_.swap(ended);
}

const std::shared_ptr<ThreadPool>& default_threadpool() {
  struct Default {
    ThreadPool pool;
    std::shared_ptr<ThreadPool> shared{std::shared_ptr<ThreadPool>(), &pool};  // owns nothing
  };
  return lasting<Default>().shared;
}

ThreadPool* get_threadpool() { return chosen == nullptr ? default_threadpool().get() : chosen; }

pthreadpool_t get_pthreadpool() { return no_pool ? nullptr : get_threadpool()->workers().get(); }

bool NoThreadPoolGuard::is_enabled() { return no_pool; }
void NoThreadPoolGuard::set_enabled(bool enabled) { no_pool = enabled; }

ThreadPoolScope::ThreadPoolScope(ThreadPool* pool) : outer_(chosen) {
  chosen = pool == nullptr ? chosen : pool;
}
ThreadPoolScope::~ThreadPoolScope() { chosen = outer_; }

}  // namespace executorch::extension::threadpool
