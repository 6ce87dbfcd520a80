// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <mutex>

#include <executorch/runtime/core/memory_allocator.h>

namespace executorch::extension {

inline constexpr size_t kCachingAllocatorDefaultAlignment = 64;

/// A MemoryAllocator for temporary memory that keeps its pieces: reset() makes them available to
/// later allocations of the same size and alignment. For kernels that need the same sizes in every
/// execution. Threads may share it.
class CPUCachingAllocator : public executorch::runtime::MemoryAllocator {
 public:
  /// @param max_size If the pieces have more bytes than this, reset() frees them all.
  explicit CPUCachingAllocator(uint32_t max_size)
      : MemoryAllocator(0, nullptr), max_size_(max_size) {}
  ~CPUCachingAllocator() override {
    free_pieces(&used_);
    free_cached();
  }

  CPUCachingAllocator(const CPUCachingAllocator&) = delete;
  CPUCachingAllocator& operator=(const CPUCachingAllocator&) = delete;

  /// @return nullptr without memory, and for an `alignment` other than a power of 2.
  void* allocate(size_t size, size_t alignment = kCachingAllocatorDefaultAlignment) override {
    size_t bytes = 0;
    if (!isPowerOf2(alignment) ||
        executorch::runtime::add_overflows(size, alignment - 1 + sizeof(Piece), &bytes) ||
        bytes > static_cast<size_t>(PTRDIFF_MAX)) {
      return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    Piece* piece = take_cached(size, alignment);
    if (piece == nullptr) {
      piece = static_cast<Piece*>(malloc(bytes));
      if (piece == nullptr) {
        return nullptr;
      }
      piece->size = size;
      piece->alignment = alignment;
      current_size_ += bytes;
    }
    piece->next = used_;
    used_ = piece;
    return alignPointer(piece + 1, alignment);
  }

  /// Ends the use of all memory that was allocated.
  void reset() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (current_size_ > max_size_) {
      free_pieces(&used_);
      free_cached();
      return;
    }
    while (used_ != nullptr) {
      Piece* const piece = used_;
      used_ = piece->next;
      Piece** const list = cache_of(piece->size);
      piece->next = *list;
      *list = piece;
    }
  }

 private:
  /// Header of each piece; links the pieces without further memory.
  struct alignas(max_align_t) Piece {
    Piece* next;
    size_t size;
    size_t alignment;
  };

  /// The list of unused pieces whose sizes have as many bits as `size`.
  Piece** cache_of(size_t size) {
    size_t bits = 0;
    for (; size != 0; size >>= 1) {
      ++bits;
    }
    return &cached_[bits];
  }

  Piece* take_cached(size_t size, size_t alignment) {
    for (Piece** link = cache_of(size); *link != nullptr; link = &(*link)->next) {
      Piece* const piece = *link;
      if (piece->size == size && piece->alignment == alignment) {
        *link = piece->next;
        return piece;
      }
    }
    return nullptr;
  }

  static void free_pieces(Piece** list) {
    while (*list != nullptr) {
      Piece* const piece = *list;
      *list = piece->next;
      free(piece);
    }
  }

  /// Frees the cached pieces; no piece may be in use.
  void free_cached() {
    for (Piece*& list : cached_) {
      free_pieces(&list);
    }
    current_size_ = 0;
  }

  std::mutex mutex_;
  const size_t max_size_;
  size_t current_size_ = 0;
  Piece* used_ = nullptr;
  Piece* cached_[8 * sizeof(size_t) + 1] = {};
};

}  // namespace executorch::extension
