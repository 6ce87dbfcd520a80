// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <stdint.h>

#include <executorch/backends/xnnpack/runtime/operators/library.h>

namespace executorch::backends::xnnpack {
namespace {

thread_local LibraryMemory* of_thread = nullptr;

}  // namespace

LibraryMemory::LibraryMemory(size_t* bytes, size_t limit)
    : bytes_(bytes), limit_(limit == 0 ? SIZE_MAX : limit) {
  of_thread = this;
}

LibraryMemory::~LibraryMemory() { of_thread = nullptr; }

LibraryMemory* LibraryMemory::current() { return of_thread; }

bool LibraryMemory::has_room(size_t size) {
  const bool has_room = *bytes_ <= limit_ && size <= limit_ - *bytes_;
  is_exceeded_ = is_exceeded_ || !has_room;
  return has_room;
}

}  // namespace executorch::backends::xnnpack
