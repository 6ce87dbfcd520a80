// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Workers are what <pthreadpool.h> gives: our own threads or the system's, whichever XNNPACK uses.
#include <pthreadpool.h>

#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/workers.h>

#if defined(__SANITIZE_THREAD__)
#define ET_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ET_THREAD_SANITIZER 1
#endif
#endif

#ifdef ET_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace executorch::extension::threadpool {
namespace {

/// One call of run_on_workers(). The system's pthreadpool is compiled without the thread sanitizer,
/// which therefore misses the order its atomics impose. Annotate it: each task starts after the
/// call, and the call returns after the end of each task.
struct Call {
  runtime::FunctionRef<void(size_t)> fn;

  void publish() {
#ifdef ET_THREAD_SANITIZER
    __tsan_release(this);
#endif
  }
  void observe() {
#ifdef ET_THREAD_SANITIZER
    __tsan_acquire(this);
#endif
  }
};

void run_task(void* context, size_t index) {
  Call* call = static_cast<Call*>(context);
  call->observe();
  call->fn(index);
  call->publish();
}

}  // namespace

std::shared_ptr<pthreadpool> start_workers(size_t count) {
  pthreadpool_t pool = pthreadpool_create(count);
  std::shared_ptr<pthreadpool> workers;
  if (pool != nullptr) {
    // On failure no thread is created.
    (void)or_no_memory("threads", [&] {
      workers.reset(pool, pthreadpool_destroy);
      return runtime::Error::Ok;
    });
  }
  return workers;
}

size_t count_threads(pthreadpool_t workers) { return pthreadpool_get_threads_count(workers); }

void run_on_workers(pthreadpool_t workers, runtime::FunctionRef<void(size_t)> fn, size_t range) {
  Call call{fn};
  call.publish();
  pthreadpool_parallelize_1d(workers, run_task, &call, range, /*flags=*/0);
  call.observe();
}

}  // namespace executorch::extension::threadpool
