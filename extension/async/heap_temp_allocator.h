// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Temporary memory for kernels that run concurrently and therefore cannot share the method's.
#pragma once

#include <stdlib.h>

#include <mutex>

#include <executorch/runtime/core/memory_allocator.h>

namespace executorch::runtime::internal {

/// Header of a heap block; its bytes follow directly.
struct TempBlock {
  TempBlock* next;
  size_t size;

  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
};

/// Blocks that a method's executions keep for reuse: one for each task that ran concurrently, as
/// large as the largest need of an instruction. Returning memory to the system each time would
/// serialize the threads and fault the pages in again.
class KeptTempBlocks final {
 public:
  KeptTempBlocks() = default;
  KeptTempBlocks(const KeptTempBlocks&) = delete;
  KeptTempBlocks& operator=(const KeptTempBlocks&) = delete;
  ~KeptTempBlocks() {
    while (TempBlock* const block = take()) free(block);
  }

  /// Removes and returns the block that was given last; null if empty.
  TempBlock* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    TempBlock* const block = first_;
    if (block != nullptr) first_ = block->next;
    return block;
  }

  void give(TempBlock* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    block->next = first_;
    first_ = block;
  }

 private:
  std::mutex mutex_;
  TempBlock* first_ = nullptr;
};

/// Allocates from a kept block, then from new heap blocks. reset() keeps one block, merging several
/// into one of their total size. The destructor returns the block to `kept`.
class HeapTempAllocator final : public MemoryAllocator {
 public:
  /// `kept` must outlive the allocator.
  explicit HeapTempAllocator(KeptTempBlocks& kept)
      : MemoryAllocator(0, nullptr), kept_(kept), first_(kept.take()) {
    if (first_ != nullptr) first_->next = nullptr;
  }
  ~HeapTempAllocator() override {
    HeapTempAllocator::reset();
    if (first_ != nullptr) kept_.give(first_);
  }
  HeapTempAllocator(const HeapTempAllocator&) = delete;
  HeapTempAllocator& operator=(const HeapTempAllocator&) = delete;

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        size > SIZE_MAX - alignment - sizeof(TempBlock)) {
      return nullptr;
    }
    if (first_ == nullptr || !fits(size, alignment)) {
      TempBlock* const block = make(size + alignment);
      if (block == nullptr) return nullptr;
      block->next = first_;
      first_ = block;
      used_ = 0;
    }
    uint8_t* const begin = alignPointer(first_->bytes() + used_, alignment);
    used_ = static_cast<size_t>(begin - first_->bytes()) + size;
    return begin;
  }

  void reset() override {
    used_ = 0;
    if (first_ == nullptr || first_->next == nullptr) return;
    size_t total = 0;
    while (first_ != nullptr) {
      TempBlock* const block = first_;
      first_ = block->next;
      total += block->size;
      free(block);
    }
    first_ = make(total);  // on failure, the next allocation reports it
  }

 private:
  static TempBlock* make(size_t bytes) {
    auto* const block = static_cast<TempBlock*>(malloc(sizeof(TempBlock) + bytes));
    if (block != nullptr) *block = {nullptr, bytes};
    return block;
  }

  bool fits(size_t size, size_t alignment) const {
    const auto offset =
        static_cast<size_t>(alignPointer(first_->bytes() + used_, alignment) - first_->bytes());
    return offset <= first_->size && size <= first_->size - offset;
  }

  KeptTempBlocks& kept_;
  TempBlock* first_;
  size_t used_ = 0;
};

}  // namespace executorch::runtime::internal
