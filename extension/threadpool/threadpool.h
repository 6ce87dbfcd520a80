// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Thread pools: objects that the application owns, and the default pool of the process.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <mutex>

#include <executorch/runtime/core/function_ref.h>

// Declared as in <pthreadpool.h>, which only its callers need to include.
typedef struct pthreadpool* pthreadpool_t;

namespace executorch::extension::threadpool {

/// A thread pool that includes the thread that calls run(). Several threads may use one pool
/// concurrently: it runs one call of run() at a time, so that the number of running threads never
/// exceeds the pool's. Threads start at their first use, and again in a forked process.
class ThreadPool final {
 public:
  /// With 0 threads, the pool has one for each physical core that the process may use (cores.h).
  explicit ThreadPool(size_t thread_count = 0);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Returns the shared pool of this many threads, alive while anyone holds it; the default pool if
  /// its size matches. A pool of one thread is a new one each time, because it is free and never
  /// contended. Null, after a log message, if memory is exhausted.
  static std::shared_ptr<ThreadPool> of_size(size_t thread_count);

  /// The number of threads, with the one that calls run().
  size_t get_thread_count() const;

  /// Calls fn(i) for each i below `range`, on all threads; returns when all calls have. Within such
  /// a call, and inside a NoThreadPoolGuard, everything runs on the calling thread.
  void run(runtime::FunctionRef<void(size_t)> fn, size_t range);

  /// The workers for libraries that take a pthreadpool_t; null if the pool has one thread only.
  /// They end when the pool and all holders have released them.
  std::shared_ptr<pthreadpool> workers();

  /// Sets the number of threads (0: the default) for later loads; holders of workers() keep theirs.
  /// Returns false, without a change, if that number is not possible.
  bool _unsafe_reset_threadpool(uint32_t num_threads);
  /// Ends the threads if workers() has no other holder; they start again when they are needed.
  void _unsafe_destroy_threadpool();

 private:
  mutable std::mutex mutex_;
  size_t thread_count_;
  std::shared_ptr<pthreadpool> workers_;
};

/// The current thread's pool: that of the innermost ThreadPoolScope, else the default pool of the
/// process. Never null.
ThreadPool* get_threadpool();

/// The workers of the current thread's pool; null if it has one thread, and inside a
/// NoThreadPoolGuard. Valid until the pool is reset.
pthreadpool_t get_pthreadpool();

/// The process's default pool, which is never destroyed.
const std::shared_ptr<ThreadPool>& default_threadpool();

}  // namespace executorch::extension::threadpool

// Documented names of the same things.
// Within namespace torch, executorch::… still finds what ::executorch has.
namespace torch::executorch {
using namespace ::executorch;  // NOLINT: the purpose of it
}  // namespace torch::executorch
namespace torch::executorch::threadpool {
using ::executorch::extension::threadpool::get_pthreadpool;
using ::executorch::extension::threadpool::get_threadpool;
using ::executorch::extension::threadpool::ThreadPool;
}  // namespace torch::executorch::threadpool
