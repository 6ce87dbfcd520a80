// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// A MemoryAllocator without a block of its own. The platform (et_pal_allocate) allocates each
/// piece; reset() and the destructor free them. allocate() returns nullptr if the platform is out
/// of memory. It provides the temporary memory of a Method whose MemoryManager lacks a temp
/// allocator, and of kernels that are called with a context without one.
class PlatformMemoryAllocator final : public MemoryAllocator {
 public:
  PlatformMemoryAllocator() : MemoryAllocator(0, nullptr) {}
  PlatformMemoryAllocator(const PlatformMemoryAllocator&) = delete;
  PlatformMemoryAllocator& operator=(const PlatformMemoryAllocator&) = delete;
  ~PlatformMemoryAllocator() override { PlatformMemoryAllocator::reset(); }

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    size_t bytes = 0;
    if (!isPowerOf2(alignment) ||
        executorch::runtime::add_overflows(size, alignment - 1 + sizeof(Piece), &bytes)) {
      ET_LOG(Error, "no memory of %zu bytes can be aligned to %zu", size, alignment);
      return nullptr;
    }
    auto* const piece = static_cast<Piece*>(executorch::runtime::pal_allocate(bytes));
    if (piece == nullptr) {
      ET_LOG(Error, "the platform has no %zu bytes of temporary memory", bytes);
      return nullptr;
    }
    piece->next = pieces_;
    pieces_ = piece;
    used_ += size;
    return alignPointer(piece + 1, alignment);
  }

  /// Bytes requested since the last reset().
  size_t used_size() const override { return used_; }
  /// Unknown: the platform decides.
  size_t free_size() const override { return SIZE_MAX; }

  void reset() override {
    while (pieces_ != nullptr) {
      Piece* const piece = pieces_;
      pieces_ = piece->next;
      executorch::runtime::pal_free(piece);
    }
    used_ = 0;
  }

 private:
  /// Header in front of each piece.
  struct Piece {
    Piece* next;
  };

  Piece* pieces_ = nullptr;
  size_t used_ = 0;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
