// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

/// All memory that a Method may use. MethodMeta has the sizes before the method is loaded.
class MemoryManager final {
 public:
  /// All must outlive the methods loaded with them.
  /// @param method_allocator Memory for loading: MethodMeta::method_allocator_size() bytes, aligned
  ///     to 8, and what backends request.
  /// @param planned_memory For tensors: a buffer of MethodMeta::memory_planned_buffer_size(i) bytes
  ///     for each i. May be nullptr if MethodMeta::num_memory_planned_buffers() is 0. No other
  ///     method may use the buffers meanwhile.
  /// @param temp_allocator For temporary memory of kernels and delegates, reset after each call of
  ///     one. nullptr: the platform allocates that memory (et_pal_allocate) and frees it after each
  ///     call; on a platform without memory, a kernel that needs some fails.
  /// @param dynamic_allocator For tensors whose sizes have no bound
  ///     (MethodMeta::num_unbounded_tensors()). May be nullptr if there are none. An execution
  ///     allocates from it; the next execution or the method's destruction frees that memory.
  explicit MemoryManager(MemoryAllocator* method_allocator,
                         HierarchicalAllocator* planned_memory = nullptr,
                         MemoryAllocator* temp_allocator = nullptr,
                         DynamicAllocator* dynamic_allocator = nullptr)
      : method_allocator_(method_allocator),
        planned_memory_(planned_memory),
        temp_allocator_(temp_allocator),
        dynamic_allocator_(dynamic_allocator) {
    ET_CHECK_MSG(method_allocator != temp_allocator,
                 "the temp allocator is reset while the method lives: it cannot be the method's");
  }

  /// The older form, which ignores the constant allocator.
  [[deprecated("leave out the constant allocator")]] MemoryManager(
      MemoryAllocator* constant_allocator, HierarchicalAllocator* planned_memory,
      MemoryAllocator* method_allocator, MemoryAllocator* temp_allocator)
      : MemoryManager(method_allocator, planned_memory, temp_allocator) {
    (void)constant_allocator;
  }

  MemoryAllocator* method_allocator() const { return method_allocator_; }
  HierarchicalAllocator* planned_memory() const { return planned_memory_; }
  MemoryAllocator* temp_allocator() const { return temp_allocator_; }
  DynamicAllocator* dynamic_allocator() const { return dynamic_allocator_; }

  /// The devices of the planned buffers; empty if all are the CPU's.
  Span<const etensor::Device> planned_buffer_devices() const {
    return planned_memory_ == nullptr ? Span<const etensor::Device>()
                                      : planned_memory_->planned_buffer_devices();
  }
  bool has_device_memory() const { return !planned_buffer_devices().empty(); }

 private:
  MemoryAllocator* method_allocator_;
  HierarchicalAllocator* planned_memory_;
  MemoryAllocator* temp_allocator_;
  DynamicAllocator* dynamic_allocator_;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::MemoryManager;
}  // namespace torch::executor
