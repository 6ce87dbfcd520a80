// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <atomic>

#include <executorch/extension/memory_allocator/physical_memory.h>

namespace executorch::backends::xnnpack {

/// Bytes that all delegates of the process share: three quarters of the machine's memory. Any
/// number of delegates of a small file may each stay below a limit of their own.
class MemoryBudget final {
 public:
  /// Returns false, without effect, if the bytes exceed the rest of the budget. Always true if the
  /// machine's memory is unknown.
  bool take(size_t size) {
    const size_t limit = extension::three_quarters_of_memory();
    size_t taken = taken_.load();
    do {
      if (limit != 0 && (taken > limit || size > limit - taken)) {
        return false;
      }
    } while (!taken_.compare_exchange_weak(taken, taken + size));
    return true;
  }
  /// Takes bytes that are in use already, even if they exceed the rest of the budget.
  void add(size_t size) { taken_.fetch_add(size); }
  void give_back(size_t size) { taken_.fetch_sub(size); }

 private:
  std::atomic<size_t> taken_{0};
};

}  // namespace executorch::backends::xnnpack
