// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/threads.h>

#include <algorithm>
#include <atomic>

#include <executorch/runtime/platform/compiler.h>

namespace executorch::kernels::engine {
namespace {

/// Larger pools leave their remaining threads idle.
constexpr size_t kMaxWorkers = 256;
constexpr size_t kCacheLine = 64;

/// The items of a worker. It takes the first remaining one; other workers take the last.
struct alignas(kCacheLine) Share {
  std::atomic<size_t> left;
  size_t first;
  std::atomic<size_t> end;

  void set(size_t begin, size_t count) {
    left.store(count, std::memory_order_relaxed);
    first = begin;
    end.store(begin + count, std::memory_order_relaxed);
  }
  bool claim() {
    size_t count = left.load(std::memory_order_relaxed);
    while (count != 0) {
      if (left.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
};

/// A function of its own: one thread does not need the stack of the shares, 16 KB.
ET_NOINLINE void share_items(Threads& threads, size_t workers, size_t items,
                             FunctionRef<void(size_t, size_t)> work) {
  Share shares[kMaxWorkers];
  for (size_t i = 0, begin = 0; i < workers; ++i) {
    const size_t count = items / workers + (i < items % workers ? 1 : 0);
    shares[i].set(begin, count);
    begin += count;
  }
  threads.run(workers, [&](size_t worker) {
    Share& own = shares[worker];
    while (own.claim()) work(own.first++, worker);
    for (size_t i = 1; i < workers; ++i) {
      Share& other = shares[(worker + i) % workers];
      while (other.claim()) work(other.end.fetch_sub(1, std::memory_order_relaxed) - 1, worker);
    }
  });
}

}  // namespace

void for_each_item(Threads& threads, size_t items, FunctionRef<void(size_t, size_t)> work) {
  const size_t workers = std::min(std::min(threads.count(), kMaxWorkers), items);
  if (workers > 1) {
    share_items(threads, workers, items, work);
    return;
  }
  for (size_t item = 0; item < items; ++item) work(item, 0);
}

}  // namespace executorch::kernels::engine
