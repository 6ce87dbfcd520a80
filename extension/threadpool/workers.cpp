// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Workers are our own threads: worker_pool.h.
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/worker_pool.h>
#include <executorch/extension/threadpool/workers.h>

namespace executorch::extension::threadpool {

std::shared_ptr<pthreadpool> start_workers(size_t count) {
  std::unique_ptr<pthreadpool> pool = pthreadpool::start(count);
  std::shared_ptr<pthreadpool> workers;
  (void)or_no_memory("threads", [&] {
    workers = std::move(pool);
    return runtime::Error::Ok;
  });
  return workers;
}

size_t count_threads(pthreadpool_t workers) { return workers->thread_count(); }

void run_on_workers(pthreadpool_t workers, runtime::FunctionRef<void(size_t)> fn, size_t range) {
  workers->run([&fn](size_t, size_t item) { fn(item); }, range, /*flags=*/0);
}

}  // namespace executorch::extension::threadpool
