// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/method_memory.h>

#include <inttypes.h>
#include <stdlib.h>

#include <new>

#include <executorch/extension/memory_allocator/large_pages.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/core/overflow.h>

namespace executorch::extension {

using runtime::Error;
using runtime::Result;
using runtime::Span;

Result<HeapBlock> HeapBlock::allocate(size_t size) {
  size_t padded = 0;
  ET_CHECK_OR_RETURN_ERROR(!runtime::add_overflows(size, kAlignment, &padded),
                           MemoryAllocationFailed, "%zu bytes cannot be allocated", size);
  // calloc() leaves large blocks to the system's zero pages; aligned_alloc() would have to be
  // cleared, which touches every page.
  Memory memory(calloc(1, padded), free);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "%zu bytes cannot be allocated", size);
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory.get());
  auto* begin = reinterpret_cast<uint8_t*>((address + kAlignment - 1) & ~(kAlignment - 1));
  // Caches of keys and values are read from end to end, which misses the TLB on small pages.
  prefer_large_pages(begin, size);
  return HeapBlock(std::move(memory), begin, size);
}

GrowingAllocator::GrowingAllocator(HeapBlock first)
    : MemoryAllocator(static_cast<uint32_t>(first.bytes().size()), first.bytes().data()),
      first_(std::move(first)) {}

void* GrowingAllocator::allocate_growing(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment)) {
    return MemoryAllocator::allocate(size, alignment);  // which reports it
  }
  size_t worst_case = 0;
  if (!runtime::add_overflows(size, alignment - 1, &worst_case) && worst_case <= free_size()) {
    return MemoryAllocator::allocate(size, alignment);
  }
  const uintptr_t next = reinterpret_cast<uintptr_t>(base_address()) + MemoryAllocator::used_size();
  const size_t padding = (alignment - next % alignment) % alignment;
  if (size <= free_size() && padding <= free_size() - size) {
    return MemoryAllocator::allocate(size, alignment);
  }
  if (alignment > HeapBlock::kAlignment) {
    ET_LOG(Error, "alignment %zu is more than %zu", alignment, HeapBlock::kAlignment);
    return nullptr;
  }
  Result<HeapBlock> block = HeapBlock::allocate(size);
  if (!block.ok()) {
    return nullptr;
  }
  std::unique_ptr<Overflow> overflow(new (std::nothrow) Overflow{std::move(*block), nullptr});
  if (overflow == nullptr) {
    return nullptr;
  }
  overflow->next = std::move(overflow_);
  overflow_ = std::move(overflow);
  overflow_size_ += size;
  return overflow_->block.bytes().data();
}

size_t default_max_planned_bytes() { return three_quarters_of_memory(); }

namespace {

/// Adds the bytes of outputs without planned memory to `total`.
Error add_unplanned_outputs(const runtime::MethodMeta& meta, size_t* total) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    if (ET_UNWRAP(meta.output_tag(i)) != runtime::Tag::Tensor) {
      continue;
    }
    const runtime::TensorInfo info = ET_UNWRAP(meta.output_tensor_meta(i));
    if (!info.is_memory_planned() && runtime::add_overflows(*total, info.nbytes(), total)) {
      *total = SIZE_MAX;
    }
  }
  return Error::Ok;
}

/// The sum of the method's planned buffers; SIZE_MAX if it does not fit.
Result<size_t> planned_bytes(const runtime::MethodMeta& meta) {
  size_t total = 0;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = static_cast<size_t>(ET_UNWRAP(meta.memory_planned_buffer_size(i)));
    if (runtime::add_overflows(total, size, &total)) {
      total = SIZE_MAX;
    }
  }
  return total;
}

/// Planners give each state bytes of its own. Copying many states to one place, one after the
/// other, would take time without bound.
Error check_states(const runtime::MethodMeta& meta) {
  constexpr uint64_t kMaxCopies = 4;
  const size_t planned = ET_UNWRAP(planned_bytes(meta));
  ET_CHECK_OR_RETURN_ERROR(
      meta.initial_state_bytes() / kMaxCopies <= planned, InvalidProgram,
      "method '%s' has %" PRIu64
      " bytes of initial data for %zu bytes of planned memory, expected at most %" PRIu64
      " times as many",
      meta.name(), meta.initial_state_bytes(), planned, kMaxCopies);
  return Error::Ok;
}

}  // namespace

Error check_planned_bytes(const runtime::MethodMeta& meta, size_t limit) {
  size_t total = ET_UNWRAP(planned_bytes(meta));
  ET_CHECK_OK_OR_RETURN_ERROR(add_unplanned_outputs(meta, &total));
  ET_CHECK_OR_RETURN_ERROR(limit == 0 || total <= limit, MemoryAllocationFailed,
                           "method '%s' needs %zu bytes for planned buffers and outputs; the limit "
                           "max_planned_bytes is %zu",
                           meta.name(), total, limit);
  return Error::Ok;
}

Result<std::unique_ptr<MethodMemory>> MethodMemory::allocate(const runtime::MethodMeta& meta,
                                                             const Given& given) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_states(meta));
  if (given.planned == nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_planned_bytes(meta, given.max_planned_bytes));
  }
  const size_t method_size = given.method_allocator != nullptr ? 0 : meta.method_allocator_size();
  ET_CHECK_OR_RETURN_ERROR(method_size <= UINT32_MAX, MemoryAllocationFailed,
                           "method '%s' needs %zu bytes for itself, more than an allocator has",
                           meta.name(), method_size);
  HeapBlock method_block = ET_UNWRAP(HeapBlock::allocate(method_size));
  return or_no_memory("a method", [&]() -> Result<std::unique_ptr<MethodMemory>> {
    return around(std::move(method_block), meta, given);
  });
}

Result<std::unique_ptr<MethodMemory>> MethodMemory::around(HeapBlock method_block,
                                                           const runtime::MethodMeta& meta,
                                                           const Given& given) {
  const size_t buffers = given.planned != nullptr ? 0 : meta.num_memory_planned_buffers();
  std::vector<HeapBlock> blocks;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < buffers; ++i) {
    const auto size = static_cast<size_t>(ET_UNWRAP(meta.memory_planned_buffer_size(i)));
    if (given.arenas != nullptr && i < SharedArenas::kCount) {
      spans.push_back(given.arenas->bytes(i, size));
    } else {
      blocks.push_back(ET_UNWRAP(HeapBlock::allocate(size),
                                 "method '%s' needs %zu bytes in planned buffer %zu", meta.name(),
                                 size, i));
      spans.push_back(blocks.back().bytes());
    }
  }
  return std::unique_ptr<MethodMemory>(
      new MethodMemory(std::move(method_block), std::move(blocks), std::move(spans), given));
}

Result<SharedArenas> SharedArenas::allocate(const runtime::Program& program,
                                            size_t max_planned_bytes) {
  size_t sizes[kCount] = {};
  for (size_t m = 0; m < program.num_methods(); ++m) {
    const runtime::MethodMeta meta =
        ET_UNWRAP(program.method_meta(ET_UNWRAP(program.get_method_name(m))));
    ET_CHECK_OR_RETURN_ERROR(!meta.memory_planned_buffer_has_state(0), NotSupported,
                             "method '%s' keeps state in planned buffer 0, which other methods "
                             "overwrite if arenas are shared; plan it with "
                             "MemoryPlanningPass(share_mutable_buffers=True)",
                             meta.name());
    ET_CHECK_OK_OR_RETURN_ERROR(check_planned_bytes(meta, max_planned_bytes));
    for (size_t i = 0; i < kCount && i < meta.num_memory_planned_buffers(); ++i) {
      const auto size = static_cast<size_t>(ET_UNWRAP(meta.memory_planned_buffer_size(i)));
      sizes[i] = size > sizes[i] ? size : sizes[i];
    }
  }
  return or_no_memory("shared arenas", [&]() -> Result<SharedArenas> {
    std::vector<HeapBlock> blocks;
    for (const size_t size : sizes) {
      blocks.push_back(
          ET_UNWRAP(HeapBlock::allocate(size), "no %zu bytes for a shared arena", size));
    }
    return SharedArenas(std::move(blocks));
  });
}

namespace {

template <typename T>
T* given_or(T* given, T* own) {
  return given != nullptr ? given : own;
}

}  // namespace

MethodMemory::MethodMemory(HeapBlock method_block, std::vector<HeapBlock> planned_blocks,
                           std::vector<Span<uint8_t>> planned_spans, const Given& given)
    : planned_blocks_(std::move(planned_blocks)),
      planned_spans_(std::move(planned_spans)),
      method_allocator_(std::move(method_block)),
      own_planned_({planned_spans_.data(), planned_spans_.size()}),
      manager_(given_or<runtime::MemoryAllocator>(given.method_allocator, &method_allocator_),
               given_or(given.planned, &own_planned_),
               given_or<runtime::MemoryAllocator>(given.temp_allocator, &temp_allocator_),
               given_or<runtime::DynamicAllocator>(given.dynamic_allocator, &dynamic_allocator_)) {}

}  // namespace executorch::extension
