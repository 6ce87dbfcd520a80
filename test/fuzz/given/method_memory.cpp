// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/method_memory.h"

#include <stdlib.h>

#include <algorithm>

namespace executorch::fuzz {

using runtime::HierarchicalAllocator;
using runtime::MemoryManager;
using runtime::MethodMeta;
using runtime::Span;

void* SeparateAllocator::allocate(size_t size, size_t alignment) {
  if (size > kMaxMethodMemory - used_) {
    return nullptr;
  }
  void* block = nullptr;
  if (posix_memalign(&block, std::max(alignment, sizeof(void*)), size) != 0) {
    return nullptr;
  }
  used_ += size;
  pieces_.push_back(block);
  return block;
}

void SeparateAllocator::reset() {
  for (void* piece : pieces_) {
    free(piece);
  }
  pieces_.clear();
  used_ = 0;
}

void* SeparateDynamicAllocator::allocate(size_t size, size_t alignment) {
  void* block = nullptr;
  const bool is_allocated = size <= kMaxMethodMemory &&
                            posix_memalign(&block, std::max(alignment, sizeof(void*)), size) == 0;
  return is_allocated ? block : nullptr;
}

void SeparateDynamicAllocator::free(void* memory) { ::free(memory); }

MethodMemory::MethodMemory(const MethodMeta& meta)
    : method_block(new uint8_t[meta.method_allocator_size()]),
      method(static_cast<uint32_t>(meta.method_allocator_size()), method_block.get()) {
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = static_cast<size_t>(*meta.memory_planned_buffer_size(i));
    blocks.emplace_back(new uint8_t[size]());
    spans.emplace_back(blocks.back().get(), size);
  }
  planned =
      std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(spans.data(), spans.size()));
  manager = std::make_unique<MemoryManager>(&method, planned.get(), &temp, &dynamic);
}

bool is_small(const MethodMeta& meta) {
  uint64_t total = meta.method_allocator_size();
  for (size_t i = 0; i < meta.num_memory_planned_buffers() && total <= kMaxMethodMemory; ++i) {
    total += static_cast<uint64_t>(*meta.memory_planned_buffer_size(i));
  }
  return total <= kMaxMethodMemory;
}

}  // namespace executorch::fuzz
