// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The memory that all delegates of the process share: packed weights, converted and copied
// constants, intermediate results, copies of arguments, and what XNNPACK allocates. Any number of
// delegates of a small file may each stay below a limit of their own.
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>

#include <executorch/extension/memory_allocator/byte_budget.h>
#include <executorch/extension/memory_allocator/physical_memory.h>

namespace executorch::backends::xnnpack {

/// XNNPACK's alignment of its own memory.
inline constexpr size_t kBlockAlignment = 64;

/// The bytes that delegates have taken.
extension::ByteBudget& delegate_bytes();

/// Their default limit: three quarters of the memory that the process may use.
inline size_t max_delegate_bytes() { return extension::memory_limit(); }

/// Their limit for intermediate results and copies of arguments of a delegate with this option
/// max_workspace_bytes: the default or, if it is larger, the option; SIZE_MAX for 0, no limit.
inline size_t working_limit(size_t max_workspace_bytes) {
  return max_workspace_bytes == 0 ? SIZE_MAX : std::max(max_workspace_bytes, max_delegate_bytes());
}

/// A block of memory that counts towards that of all delegates: not initialized, aligned to
/// kBlockAlignment.
class DelegateBlock final {
 public:
  /// Makes the block at least `size` bytes large. Its contents are lost if it grows. False, without
  /// effect, if the allocation fails or the delegates would have more than `limit` bytes.
  [[nodiscard]] bool grow(size_t size, size_t limit = max_delegate_bytes());

  /// Null before the first call of grow().
  char* data() const { return memory_.get(); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }
  size_t size() const { return bytes_.size(); }

 private:
  struct Free {
    void operator()(char* memory) const { free(memory); }
  };

  extension::TakenBytes bytes_{delegate_bytes()};
  std::unique_ptr<char, Free> memory_;
};

}  // namespace executorch::backends::xnnpack
