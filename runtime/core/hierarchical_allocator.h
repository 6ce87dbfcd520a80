// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime {

/// The planned buffers of a method, one block of memory for each memory id. Translates a plan's
/// (memory id, offset) to addresses.
class HierarchicalAllocator final {
 public:
  /// `buffers[i]` is the memory of id i, which the file format numbers i + 1. The array and the
  /// memory must outlive the allocator.
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : buffers_(buffers) {}
  /// The same, with the device of each buffer; the arrays must be of one length.
  HierarchicalAllocator(Span<Span<uint8_t>> buffers,
                        Span<const etensor::Device> planned_buffer_devices)
      : buffers_(buffers), planned_buffer_devices_(planned_buffer_devices) {
    ET_CHECK_MSG(planned_buffer_devices.size() == buffers.size(), "%zu devices for %zu buffers",
                 planned_buffer_devices.size(), buffers.size());
  }

  /// Deprecated form: buffer i is the whole memory of `allocators[i]`, from its base address. The
  /// `n_allocators` allocators must outlive this object.
  HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators)
      : allocators_(allocators, n_allocators) {}

  /// Address of `size_bytes` bytes from `offset_bytes` in buffer `memory_id`. InvalidArgument if
  /// the buffer does not exist or the range overflows size_t, MemoryAllocationFailed if the buffer
  /// is too small.
  Result<void*> get_offset_address(uint32_t memory_id, size_t offset_bytes, size_t size_bytes);

  size_t num_buffers() const { return allocators_.empty() ? buffers_.size() : allocators_.size(); }
  /// The devices given at construction; empty means CPU for all.
  Span<const etensor::Device> planned_buffer_devices() const { return planned_buffer_devices_; }

 private:
  Span<uint8_t> buffer(size_t index) const {
    return allocators_.empty()
               ? buffers_[index]
               : Span<uint8_t>(allocators_[index].base_address(), allocators_[index].size());
  }

  Span<Span<uint8_t>> buffers_;
  Span<MemoryAllocator> allocators_;  // instead of buffers_, in the deprecated form
  Span<const etensor::Device> planned_buffer_devices_;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::HierarchicalAllocator;
}  // namespace torch::executor
