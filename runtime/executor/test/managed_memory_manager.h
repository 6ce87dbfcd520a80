// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>

#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>

namespace executorch::runtime::testing {

/// A MemoryManager with memory of its own and one planned buffer, for tests.
class ManagedMemoryManager final {
 public:
  /// `temp_allocator` may be null, else it must outlive the object.
  ManagedMemoryManager(size_t planned_memory_bytes, size_t method_allocator_bytes,
                       MemoryAllocator* temp_allocator = nullptr)
      : planned_(new uint8_t[planned_memory_bytes]),
        planned_span_(planned_.get(), planned_memory_bytes),
        planned_memory_({&planned_span_, 1}),
        method_(new uint8_t[method_allocator_bytes]),
        method_allocator_(static_cast<uint32_t>(method_allocator_bytes), method_.get()),
        memory_manager_(&method_allocator_, &planned_memory_, temp_allocator) {}

  MemoryManager& get() { return memory_manager_; }

 private:
  std::unique_ptr<uint8_t[]> planned_;
  Span<uint8_t> planned_span_;
  HierarchicalAllocator planned_memory_;
  std::unique_ptr<uint8_t[]> method_;
  MemoryAllocator method_allocator_;
  MemoryManager memory_manager_;
};

}  // namespace executorch::runtime::testing

// Documented names of the same things.
namespace torch::executor::testing {
using ::executorch::runtime::testing::ManagedMemoryManager;
}  // namespace torch::executor::testing
