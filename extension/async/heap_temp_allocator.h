// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Temporary memory for kernels that run beside each other, who cannot share the method's.
#pragma once

#include <stdlib.h>

#include <executorch/runtime/core/memory_allocator.h>

namespace executorch::runtime::internal {

/// Takes every block from the heap; reset() gives all back.
class HeapTempAllocator final : public MemoryAllocator {
 public:
  HeapTempAllocator() : MemoryAllocator(0, nullptr) {}
  ~HeapTempAllocator() { give_back(); }
  HeapTempAllocator(const HeapTempAllocator&) = delete;
  HeapTempAllocator& operator=(const HeapTempAllocator&) = delete;

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        size > SIZE_MAX - alignment - sizeof(Block)) {
      return nullptr;
    }
    auto* const block = static_cast<Block*>(malloc(sizeof(Block) + alignment + size));
    if (block == nullptr) return nullptr;
    block->next = first_;
    first_ = block;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(block + 1) + alignment - 1;
    return reinterpret_cast<void*>(begin & ~(static_cast<uintptr_t>(alignment) - 1));
  }

  void reset() override { give_back(); }

 private:
  struct Block {
    Block* next;
  };

  void give_back() {
    while (first_ != nullptr) {
      Block* const block = first_;
      first_ = block->next;
      free(block);
    }
  }

  Block* first_ = nullptr;
};

}  // namespace executorch::runtime::internal
