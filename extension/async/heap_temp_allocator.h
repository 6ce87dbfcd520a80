// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Temporary memory for kernels that run beside each other, who cannot share the method's.
#pragma once

#include <stdlib.h>

#include <executorch/runtime/core/memory_allocator.h>

namespace executorch::runtime::internal {

/// Takes blocks from the heap. reset() keeps the largest for what comes next: giving memory back to
/// the system each time makes threads wait for each other.
class HeapTempAllocator final : public MemoryAllocator {
 public:
  HeapTempAllocator() : MemoryAllocator(0, nullptr) {}
  ~HeapTempAllocator() { keep(nullptr); }
  HeapTempAllocator(const HeapTempAllocator&) = delete;
  HeapTempAllocator& operator=(const HeapTempAllocator&) = delete;

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        size > SIZE_MAX - alignment - sizeof(Block)) {
      return nullptr;
    }
    if (first_ == nullptr || !fits(size, alignment)) {
      auto* const block = static_cast<Block*>(malloc(sizeof(Block) + alignment + size));
      if (block == nullptr) return nullptr;
      *block = {first_, alignment + size};
      first_ = block;
      used_ = 0;
    }
    const uintptr_t begin = aligned(alignment);
    used_ = begin - reinterpret_cast<uintptr_t>(first_ + 1) + size;
    return reinterpret_cast<void*>(begin);
  }

  void reset() override {
    Block* largest = first_;
    for (Block* block = first_; block != nullptr; block = block->next) {
      if (block->size > largest->size) largest = block;
    }
    keep(largest);
  }

 private:
  struct Block {
    Block* next;
    size_t size;
  };

  uintptr_t aligned(size_t alignment) const {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(first_ + 1) + used_ + alignment - 1;
    return begin & ~(static_cast<uintptr_t>(alignment) - 1);
  }

  bool fits(size_t size, size_t alignment) const {
    const uintptr_t offset = aligned(alignment) - reinterpret_cast<uintptr_t>(first_ + 1);
    return offset <= first_->size && size <= first_->size - offset;
  }

  void keep(Block* kept) {
    while (first_ != nullptr) {
      Block* const block = first_;
      first_ = block->next;
      if (block != kept) free(block);
    }
    if (kept != nullptr) kept->next = nullptr;
    first_ = kept;
    used_ = 0;
  }

  Block* first_ = nullptr;
  size_t used_ = 0;
};

}  // namespace executorch::runtime::internal
