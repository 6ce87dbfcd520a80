// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch::fuzz {

/// Gives every piece a heap block of its own, up to a few megabytes.
class SeparateAllocator final : public runtime::MemoryAllocator {
 public:
  SeparateAllocator() : MemoryAllocator(0, nullptr) {}
  ~SeparateAllocator() override { reset(); }
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override;

 private:
  std::vector<void*> pieces_;
  size_t used_ = 0;
};

/// Memory of tensors without bound: a heap block for each piece, up to a few megabytes.
class SeparateDynamicAllocator final : public runtime::DynamicAllocator {
 public:
  void* allocate(size_t size, size_t alignment) override;
  void free(void* memory) override;
};

/// The memory of one method, of exactly the sizes that it requests.
struct MethodMemory {
  explicit MethodMemory(const runtime::MethodMeta& meta);

  std::unique_ptr<uint8_t[]> method_block;
  runtime::MemoryAllocator method;
  SeparateAllocator temp;
  SeparateDynamicAllocator dynamic;
  std::vector<std::unique_ptr<uint8_t[]>> blocks;
  std::vector<runtime::Span<uint8_t>> spans;
  std::unique_ptr<runtime::HierarchicalAllocator> planned;
  std::unique_ptr<runtime::MemoryManager> manager;
};

constexpr size_t kMaxMethodMemory = 8u << 20;

/// Returns whether the method requests at most that.
bool is_small(const runtime::MethodMeta& meta);

}  // namespace executorch::fuzz
