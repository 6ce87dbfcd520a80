// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Places where something outside of the project may fail: system calls, threads, delegates, a data
// loader, allocators. A test counts those that a run passes, and then makes each of them fail once.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace executorch::testing::faults {

/// Kinds of failures; each has its own error.
enum class Kind {
  /// open, fstat, pread, mmap, mlock, madvise: of the program linked with system_calls.cpp.
  SystemCall,
  /// pthread_create.
  Thread,
  /// A backend's init or execute.
  Delegate,
  /// DataLoader::load, load_into, size.
  Loader,
  /// A client's allocator.
  Memory,
};

/// Called at such a place, from any thread: returns true if the place must fail now.
bool fails(Kind kind, const char* name);

/// While an object of this type exists, point `index` (from 0) fails.
class FailingAt final {
 public:
  explicit FailingAt(int64_t index);
  ~FailingAt();
  /// The name of the point that failed; null if there were fewer points.
  const char* failed() const;
  Kind kind() const;
};

/// The number of points since the last FailingAt was created.
int64_t points_passed();

/// Returns whether system calls and threads are points in this build.
bool are_system_calls_watched();

}  // namespace executorch::testing::faults
