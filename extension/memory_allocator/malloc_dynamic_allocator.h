// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <executorch/runtime/core/dynamic_allocator.h>

namespace executorch::extension {

/// A DynamicAllocator for hosts with plenty of memory. It allocates pieces on the C library's heap,
/// and keeps freed ones for later requests of about their size. Not thread-safe. All pieces must be
/// freed before it is destroyed.
class MallocDynamicAllocator final : public executorch::runtime::DynamicAllocator {
 public:
  MallocDynamicAllocator() = default;
  MallocDynamicAllocator(const MallocDynamicAllocator&) = delete;
  MallocDynamicAllocator& operator=(const MallocDynamicAllocator&) = delete;
  ~MallocDynamicAllocator() override { trim(); }

  void* allocate(size_t size, size_t alignment) override {
    if (Piece* const piece = take_kept(size, alignment)) {
      return mark_in_use(piece);
    }
    // Do not keep pieces whose sizes are no longer requested.
    if (kept_bytes_ > peak_bytes_) {
      trim();
    }
    Piece* piece = make(size, alignment);
    if (piece == nullptr) {
      // The kept pieces may be the reason for the failure.
      trim();
      piece = make(size, alignment);
    }
    return piece == nullptr ? nullptr : mark_in_use(piece);
  }

  void free(void* memory) override {
    Piece* const piece = static_cast<Piece*>(memory) - 1;
    Piece** const place = first_kept(piece->size);
    piece->next = *place;
    *place = piece;
    kept_bytes_ += piece->size;
    bytes_ -= piece->size;
    --pieces_in_use_;
  }

  /// Releases the kept pieces to the system.
  void trim() {
    while (kept_ != nullptr) {
      Piece* const piece = kept_;
      kept_ = piece->next;
      ::free(piece->block);
    }
    kept_bytes_ = 0;
  }

  /// The pieces that have been allocated and not been freed.
  size_t pieces_in_use() const { return pieces_in_use_; }

  /// Peak of the bytes in use.
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  /// Header before the bytes; a separate table of pieces would need an allocation.
  struct Piece {
    void* block;
    size_t size;
    Piece* next;
  };

  /// The link to the smallest kept piece of at least `size` bytes, or to the end of the list.
  Piece** first_kept(size_t size) {
    Piece** place = &kept_;
    while (*place != nullptr && (*place)->size < size) place = &(*place)->next;
    return place;
  }

  /// Takes the smallest kept piece of at least `size` bytes. Null if there is none, or if it is
  /// more than twice as large or not aligned.
  Piece* take_kept(size_t size, size_t alignment) {
    Piece** const place = first_kept(size);
    Piece* const piece = *place;
    if (piece == nullptr || piece->size / 2 > size ||
        reinterpret_cast<uintptr_t>(piece + 1) % alignment != 0) {
      return nullptr;
    }
    *place = piece->next;
    kept_bytes_ -= piece->size;
    return piece;
  }

  static Piece* make(size_t size, size_t alignment) {
    const size_t min_alignment = alignment < alignof(Piece) ? alignof(Piece) : alignment;
    const size_t before = (sizeof(Piece) + min_alignment - 1) / min_alignment * min_alignment;
    void* block = nullptr;
    if (size > SIZE_MAX - before || posix_memalign(&block, min_alignment, before + size) != 0) {
      return nullptr;
    }
    auto* const piece = reinterpret_cast<Piece*>(static_cast<char*>(block) + before) - 1;
    *piece = {block, size, nullptr};
    return piece;
  }

  /// Counts the piece as in use and returns its memory.
  void* mark_in_use(Piece* piece) {
    bytes_ += piece->size;
    peak_bytes_ = bytes_ > peak_bytes_ ? bytes_ : peak_bytes_;
    ++pieces_in_use_;
    return piece + 1;
  }

  /// Freed pieces, the smallest first.
  Piece* kept_ = nullptr;
  size_t pieces_in_use_ = 0;
  size_t bytes_ = 0;
  size_t kept_bytes_ = 0;
  size_t peak_bytes_ = 0;
};

}  // namespace executorch::extension
