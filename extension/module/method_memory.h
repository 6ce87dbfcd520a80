// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/memory_allocator/malloc_dynamic_allocator.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::extension {

/// A block of memory from the heap.
class HeapBlock final {
 public:
  /// Alignment of planned buffers, and thus of planned tensors with aligned offsets.
  static constexpr size_t kAlignment = 64;

  /// Allocates `size` zeroed bytes; MemoryAllocationFailed on failure.
  static runtime::Result<HeapBlock> allocate(size_t size);

  runtime::Span<uint8_t> bytes() const { return {begin_, size_}; }

 private:
  using Memory = std::unique_ptr<void, void (*)(void*)>;

  HeapBlock(Memory memory, uint8_t* begin, size_t size)
      : memory_(std::move(memory)), begin_(begin), size_(size) {}

  Memory memory_;
  uint8_t* begin_;
  size_t size_;
};

/// An allocator over one block that adds further blocks when it is full. The first block has the
/// size that the method's file states; delegates may need more.
class GrowingAllocator final : public runtime::MemoryAllocator {
 public:
  explicit GrowingAllocator(HeapBlock first);
  ~GrowingAllocator() override { GrowingAllocator::reset(); }

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    return allocate_growing(size, alignment);
  }
  size_t used_size() const override { return MemoryAllocator::used_size() + overflow_size_; }
  size_t free_size() const override { return size() - MemoryAllocator::used_size(); }
  /// Bytes allocated beyond the first block.
  size_t overflow_size() const { return overflow_size_; }
  void reset() override {
    MemoryAllocator::reset();
    while (overflow_ != nullptr) overflow_ = std::move(overflow_->next);
    overflow_size_ = 0;
  }

 private:
  // Virtual functions are inline for the reason that MemoryAllocator gives.
  void* allocate_growing(size_t size, size_t alignment);

  struct Overflow {
    HeapBlock block;
    std::unique_ptr<Overflow> next;
  };

  HeapBlock first_;
  std::unique_ptr<Overflow> overflow_;
  size_t overflow_size_ = 0;
};

/// The default limit of a method's planned memory in bytes: three quarters of the machine's
/// memory, or of a smaller limit of the process's control groups (containers); 0, no limit, if they
/// are unknown.
size_t default_max_planned_bytes();

/// Ok if the planned buffers of a method and the outputs that its plan leaves to the caller take at
/// most `limit` bytes together, or `limit` is 0; else MemoryAllocationFailed.
runtime::Error check_planned_bytes(const runtime::MethodMeta& meta, size_t limit);

/// Memory for planned buffers 0 and 1 of all methods of a program, which must never run at the same
/// time: each buffer has the largest size that a method needs. Buffer 0 is for values within an
/// execution; in buffer 1, state that is planned to be shared
/// (MemoryPlanningPass(share_mutable_buffers=True)) has one place for all methods. Load all methods
/// before the first runs, because loading a method sets the state to its initial values.
class SharedArenas final {
 public:
  /// The number of shared buffers; further buffers belong to one method each.
  static constexpr size_t kCount = 2;

  /// NotSupported if a method keeps state in buffer 0: the others would overwrite it. No method may
  /// request more than `max_planned_bytes`; 0: no limit.
  static runtime::Result<SharedArenas> allocate(
      const runtime::Program& program, size_t max_planned_bytes = default_max_planned_bytes());

  /// The first `size` bytes of buffer `index`, which must have that many.
  runtime::Span<uint8_t> bytes(size_t index, size_t size) const {
    return {blocks_[index].bytes().data(), size};
  }

 private:
  explicit SharedArenas(std::vector<HeapBlock> blocks) : blocks_(std::move(blocks)) {}

  std::vector<HeapBlock> blocks_;
};

/// The memory that one method needs, as its file states it. Must outlive the method.
class MethodMemory final {
 public:
  /// Memory that the caller provides; it must outlive the MethodMemory. Null: allocate.
  struct Given {
    runtime::HierarchicalAllocator* planned = nullptr;
    runtime::MemoryAllocator* method_allocator = nullptr;
    runtime::MemoryAllocator* temp_allocator = nullptr;
    /// Shared arenas of the method's program.
    const SharedArenas* arenas = nullptr;
    runtime::DynamicAllocator* dynamic_allocator = nullptr;
    /// check_planned_bytes() applies it, unless planned memory is given.
    size_t max_planned_bytes = default_max_planned_bytes();
  };

  /// Allocates the memory of the method described by `meta` that is not given.
  /// MemoryAllocationFailed on failure; InvalidProgram if the method copies many times more initial
  /// data than its planned buffers hold.
  static runtime::Result<std::unique_ptr<MethodMemory>> allocate(const runtime::MethodMeta& meta,
                                                                 const Given& given);
  static runtime::Result<std::unique_ptr<MethodMemory>> allocate(const runtime::MethodMeta& meta) {
    return allocate(meta, Given{});
  }

  runtime::MemoryManager* manager() { return &manager_; }
  /// Returns true if the address is in a planned buffer, unless those are the caller's.
  bool plans(const void* address) const {
    const auto* const byte = static_cast<const uint8_t*>(address);
    for (const runtime::Span<uint8_t> buffer : planned_spans_) {
      if (byte >= buffer.data() && byte < buffer.data() + buffer.size()) return true;
    }
    return false;
  }
  /// The largest temporary memory that a kernel or delegate has taken so far, as the bytes of a
  /// block aligned to 64; 0 if the temp allocator is the caller's.
  size_t peak_temp_bytes() const { return temp_allocator_.peak_in_block(); }
  /// The largest memory that tensors without bound have taken at one time; 0 if the dynamic
  /// allocator is the caller's.
  size_t peak_dynamic_bytes() const { return dynamic_allocator_.peak_bytes(); }
  /// One for each memory id; empty if the planned buffers are the caller's.
  runtime::Span<const runtime::Span<uint8_t>> planned_buffers() const {
    return {planned_spans_.data(), planned_spans_.size()};
  }

 private:
  static runtime::Result<std::unique_ptr<MethodMemory>> around(HeapBlock method_block,
                                                               const runtime::MethodMeta& meta,
                                                               const Given& given);
  MethodMemory(HeapBlock method_block, std::vector<HeapBlock> planned_blocks,
               std::vector<runtime::Span<uint8_t>> planned_spans, const Given& given);

  std::vector<HeapBlock> planned_blocks_;
  std::vector<runtime::Span<uint8_t>> planned_spans_;
  GrowingAllocator method_allocator_;
  MallocMemoryAllocator temp_allocator_;
  MallocDynamicAllocator dynamic_allocator_;
  runtime::HierarchicalAllocator own_planned_;
  runtime::MemoryManager manager_;
};

}  // namespace executorch::extension
