// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/library.h>

namespace executorch::backends::xnnpack {
namespace {

/// Blocks up to this size do not fail, but count as exceeding.
constexpr size_t kFewBytes = 4096;

thread_local LibraryMemory* of_thread = nullptr;

}  // namespace

LibraryMemory::LibraryMemory(extension::TakenBytes* bytes, size_t limit, size_t limit_of_all)
    : bytes_(bytes), limit_(limit), limit_of_all_(limit_of_all) {
  of_thread = this;
}

LibraryMemory::~LibraryMemory() { of_thread = nullptr; }

LibraryMemory* LibraryMemory::current() { return of_thread; }

bool LibraryMemory::take(size_t size) {
  const bool has_room = bytes_->size() <= limit_ && size <= limit_ - bytes_->size();
  if (has_room && bytes_->take(size, limit_of_all_)) {
    return true;
  }
  is_exceeded_ = true;
  if (size > kFewBytes) {
    return false;
  }
  bytes_->resize(bytes_->size() + size);
  return true;
}

void LibraryMemory::correct(size_t counted, size_t actual) {
  // Memory that was allocated without this object was not counted: the sum stops at 0.
  const size_t sum = bytes_->size() + actual;
  bytes_->resize(sum - std::min(counted, sum));
}

}  // namespace executorch::backends::xnnpack
