// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <stdint.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/memory_budget.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>

namespace executorch::backends::xnnpack {
namespace {

/// Blocks up to this size do not fail, but count as exceeding.
constexpr size_t kFewBytes = 4096;

thread_local LibraryMemory* of_thread = nullptr;
MemoryBudget budget;

}  // namespace

LibraryMemory::LibraryMemory(size_t* bytes, size_t limit)
    : bytes_(bytes), limit_(limit == 0 ? SIZE_MAX : limit) {
  of_thread = this;
}

LibraryMemory::~LibraryMemory() { of_thread = nullptr; }

LibraryMemory* LibraryMemory::current() { return of_thread; }

void LibraryMemory::forget(size_t bytes) { budget.give_back(bytes); }

bool LibraryMemory::take(size_t size) {
  const bool is_limited = limit_ != SIZE_MAX;
  const bool has_room = *bytes_ <= limit_ && size <= limit_ - *bytes_;
  const bool is_taken = is_limited && has_room && budget.take(size);
  if (is_limited && !is_taken) {
    is_exceeded_ = true;
    if (size > kFewBytes) {
      return false;
    }
  }
  if (!is_taken) {
    budget.add(size);
  }
  *bytes_ += size;
  return true;
}

void LibraryMemory::correct(size_t counted, size_t actual) {
  if (actual >= counted) {
    budget.add(actual - counted);
    *bytes_ += actual - counted;
    return;
  }
  // Memory that was allocated without this object was not counted: the sum stops at 0.
  const size_t removed = std::min(counted - actual, *bytes_);
  budget.give_back(removed);
  *bytes_ -= removed;
}

}  // namespace executorch::backends::xnnpack
