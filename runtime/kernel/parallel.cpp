// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/parallel.h>

#include <atomic>

namespace executorch::runtime {
namespace {

std::atomic<const Parallel*> offered{nullptr};

}  // namespace

void set_parallel(const Parallel* parallel) { offered.store(parallel, std::memory_order_release); }

size_t parallel_parts(size_t work, size_t min_part) {
  if (work < 2 * min_part) return 1;
  const Parallel* const parallel = offered.load(std::memory_order_acquire);
  const size_t threads = parallel == nullptr ? 1 : parallel->thread_count();
  const size_t max_parts = work / min_part;
  return threads < max_parts ? threads : max_parts;
}

void run_parallel(FunctionRef<void(size_t)> task, size_t count) {
  const Parallel* const parallel = offered.load(std::memory_order_acquire);
  if (parallel != nullptr && count > 1) return parallel->run(task, count);
  for (size_t i = 0; i < count; ++i) task(i);
}

}  // namespace executorch::runtime
