// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

namespace executorch::runtime {

/// Allocator, given by the client, for tensors of unbounded sizes. A method allocates when a kernel
/// resizes such a tensor, and frees at the program's FreeCall, at the method's next execution, and
/// at its destruction.
class DynamicAllocator {
 public:
  virtual ~DynamicAllocator() = default;

  /// Returns `size` uninitialized bytes (at least 1) at a multiple of `alignment` (a power of two);
  /// nullptr on failure.
  virtual void* allocate(size_t size, size_t alignment) = 0;
  /// Frees what allocate() returned.
  virtual void free(void* memory) = 0;
};

}  // namespace executorch::runtime
