// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The threads that the engine computes with. A caller plugs in its own pool; results have the same
// bits on any number of threads, because no sum is divided by the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/runtime/core/function_ref.h>

namespace executorch::kernels::engine {

using runtime::FunctionRef;

/// A caller's thread pool. The engine does not own it.
class Threads {
 public:
  /// How many tasks may run at the same time, at least 1. Constant during a call into the engine.
  virtual size_t count() const = 0;
  /// Calls task(i) once for each i below `tasks`, in any order, on any threads; returns when all
  /// calls have returned.
  virtual void run(size_t tasks, FunctionRef<void(size_t)> task) = 0;

 protected:
  ~Threads() = default;
};

/// The calling thread alone.
class CallingThread final : public Threads {
 public:
  size_t count() const override { return 1; }
  void run(size_t tasks, FunctionRef<void(size_t)> task) override {
    for (size_t i = 0; i < tasks; ++i) task(i);
  }
};

/// Calls work(item, worker) once for each item below `items`. Workers are numbered below
/// threads.count(). Each begins with a range of neighboring items of its own, so that call after
/// call the same part of an image stays in its caches, and then takes items that others have left.
/// A worker handles one item at a time, so it may own scratch memory.
void for_each_item(Threads& threads, size_t items, FunctionRef<void(size_t, size_t)> work);

/// Elements of an item: enough to be worth waking a thread.
inline constexpr size_t kElementsOfItem = size_t{1} << 14;

/// Calls f(first, count) for blocks of rows of `length` elements each.
template <class F>
void for_each_rows(Threads& threads, size_t rows, size_t length, F&& f) {
  const size_t rows_of_item = std::max(kElementsOfItem / std::max(length, size_t{1}), size_t{1});
  for_each_item(threads, divide_up(rows, rows_of_item), [&](size_t item, size_t) {
    f(item * rows_of_item, std::min(rows_of_item, rows - item * rows_of_item));
  });
}
/// Calls compute(&call, first, count) for blocks of the rows of a call.
template <class Call>
void for_each_rows(Threads& threads, const Call& call,
                   void (*compute)(const Call*, size_t first, size_t count)) {
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { compute(&call, first, count); });
}

}  // namespace executorch::kernels::engine
