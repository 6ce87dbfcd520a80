// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

namespace executorch::runtime {

/// Where tensors whose sizes have no bound get their memory while a method runs: the client says
/// how. A method asks for such memory when a kernel resizes one of them, and gives it back at the
/// program's FreeCall, at the method's next execution, and when it is destroyed.
class DynamicAllocator {
 public:
  virtual ~DynamicAllocator() = default;

  /// `size` bytes (at least 1) at a multiple of `alignment` (a power of two), uninitialized;
  /// nullptr if there are not as many.
  virtual void* allocate(size_t size, size_t alignment) = 0;
  /// Takes back what allocate() has given.
  virtual void free(void* memory) = 0;
};

}  // namespace executorch::runtime
