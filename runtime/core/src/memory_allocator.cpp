// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

MemoryAllocator::MemoryAllocator(uint32_t size, uint8_t* base_address)
    : begin_(base_address), size_(size) {
  ET_CHECK_MSG(base_address != nullptr || size == 0, "an allocator of %" PRIu32 " bytes at null",
               size);
}

void* MemoryAllocator::allocate_from_block(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment)) {
    ET_LOG(Error, "alignment %zu not a power of two", alignment);
    return nullptr;
  }
  // The distance to the next multiple, without computing an address that may lie outside the block.
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin_) + used_;
  const size_t padding = static_cast<size_t>(0 - address) & (alignment - 1);
  const size_t free = size_ - used_;
  if (begin_ == nullptr || padding > free || size > free - padding) {
    ET_LOG(Error, "%zu bytes (aligned to %zu) requested, the allocator has %zu of %" PRIu32 " left",
           size, alignment, free, size_);
    return nullptr;
  }
  uint8_t* const start = begin_ + used_ + padding;
  used_ += padding + size;
  return start;
}

}  // namespace executorch::runtime
