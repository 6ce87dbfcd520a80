// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <executorch/runtime/core/memory_allocator.h>

namespace executorch::extension {

/// A MemoryAllocator that allocates every piece with malloc. reset() and the destructor free all
/// pieces. For hosts with plenty of memory.
class MallocMemoryAllocator final : public executorch::runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() : MemoryAllocator(0, nullptr) {}
  ~MallocMemoryAllocator() override { reset(); }

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    // malloc aligns to max_align_t at most: allocate more bytes for a larger alignment.
    const size_t slack = alignment > alignof(max_align_t) ? alignment - 1 : 0;
    size_t bytes = 0;
    if (!isPowerOf2(alignment) ||
        executorch::runtime::add_overflows(size, slack + sizeof(Piece), &bytes) ||
        bytes > static_cast<size_t>(PTRDIFF_MAX)) {  // no object is larger
      return nullptr;
    }
    auto* const piece = static_cast<Piece*>(malloc(bytes));
    if (piece == nullptr) {
      return nullptr;
    }
    piece->next = pieces_;
    pieces_ = piece;
    used_ += bytes - sizeof(Piece);
    in_block_ = (in_block_ + alignment - 1) / alignment * alignment + size;
    peak_in_block_ = in_block_ > peak_in_block_ ? in_block_ : peak_in_block_;
    return alignPointer(piece + 1, alignment);
  }

  size_t used_size() const override { return used_; }
  /// Unknown: the system decides.
  size_t free_size() const override { return SIZE_MAX; }

  void reset() override {
    while (pieces_ != nullptr) {
      Piece* const piece = pieces_;
      pieces_ = piece->next;
      free(piece);
    }
    used_ = 0;
    in_block_ = 0;
  }

  /// The size of an aligned block that suffices for all pieces allocated between two resets, at its
  /// peak.
  size_t peak_in_block() const { return peak_in_block_; }

 private:
  /// Header of each piece; links the pieces without further memory.
  struct alignas(max_align_t) Piece {
    Piece* next;
  };

  Piece* pieces_ = nullptr;
  size_t used_ = 0;
  size_t in_block_ = 0;
  size_t peak_in_block_ = 0;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::MallocMemoryAllocator;
}  // namespace torch::executor::util
