// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Interposes malloc, calloc and the other allocation functions of the C library to count and fail
// requests.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace executorch::testing::heap {

/// Returns whether this build can watch the heap: only with glibc, and without sanitizers, which
/// have a heap of their own.
bool is_watched();

/// While an object of this type exists, a request to allocate or free memory, in any library, ends
/// the process after a message.
class Forbidden final {
 public:
  Forbidden();
  ~Forbidden();
};

/// While an object of this type exists, request `index` (from 0) to malloc, calloc, realloc,
/// aligned_alloc, posix_memalign, memalign or an operator new fails.
class FailingAt final {
 public:
  explicit FailingAt(int64_t index);
  ~FailingAt();
  /// Returns whether there was such a request.
  bool has_failed() const;
};

/// Blocks that have not been freed, of all threads.
int64_t live_blocks();

}  // namespace executorch::testing::heap
