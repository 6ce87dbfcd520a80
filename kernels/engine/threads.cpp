// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/threads.h>

#include <algorithm>
#include <atomic>

namespace executorch::kernels::engine {

void for_each_item(Threads& threads, size_t items, FunctionRef<void(size_t, size_t)> work) {
  const size_t workers = std::min(threads.count(), items);
  if (workers <= 1) {
    for (size_t item = 0; item < items; ++item) work(item, 0);
    return;
  }
  std::atomic<size_t> next{0};
  threads.run(workers, [&](size_t worker) {
    for (;;) {
      const size_t item = next.fetch_add(1, std::memory_order_relaxed);
      if (item >= items) return;
      work(item, worker);
    }
  });
}

}  // namespace executorch::kernels::engine
