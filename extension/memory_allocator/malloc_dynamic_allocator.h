// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <map>

#include <executorch/runtime/core/dynamic_allocator.h>

namespace executorch::extension {

/// A DynamicAllocator for hosts with plenty of memory: pieces come from malloc, and those that were
/// freed are kept for the next ones of about their size. Not thread-safe. All pieces must have been
/// freed before it is destroyed.
class MallocDynamicAllocator final : public executorch::runtime::DynamicAllocator {
 public:
  MallocDynamicAllocator() = default;
  MallocDynamicAllocator(const MallocDynamicAllocator&) = delete;
  MallocDynamicAllocator& operator=(const MallocDynamicAllocator&) = delete;
  ~MallocDynamicAllocator() override { trim(); }

  void* allocate(size_t size, size_t alignment) override {
    const auto kept = kept_.lower_bound(size);
    if (kept != kept_.end() && kept->first / 2 <= size &&
        reinterpret_cast<uintptr_t>(kept->second) % alignment == 0) {
      void* const piece = kept->second;
      kept_bytes_ -= kept->first;
      take(piece, kept->first);
      kept_.erase(kept);
      return piece;
    }
    // Pieces of sizes that do not come again are not kept for ever.
    if (kept_bytes_ > most_bytes_) {
      trim();
    }
    void* piece = nullptr;
    const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
    if (posix_memalign(&piece, least, size == 0 ? 1 : size) != 0) {
      // What is kept may be what is missing.
      trim();
      if (posix_memalign(&piece, least, size == 0 ? 1 : size) != 0) {
        return nullptr;
      }
    }
    take(piece, size);
    return piece;
  }

  void free(void* memory) override {
    const auto found = in_use_.find(memory);
    kept_.emplace(found->second, found->first);
    kept_bytes_ += found->second;
    bytes_ -= found->second;
    in_use_.erase(found);
  }

  /// Gives what is kept back to the system.
  void trim() {
    for (const auto& [size, piece] : kept_) {
      ::free(piece);
    }
    kept_.clear();
    kept_bytes_ = 0;
  }

  /// The pieces that have been allocated and not been freed.
  size_t pieces_in_use() const { return in_use_.size(); }

  /// The most bytes that were in use at one time.
  size_t most_bytes() const { return most_bytes_; }

 private:
  void take(void* piece, size_t size) {
    in_use_.emplace(piece, size);
    bytes_ += size;
    most_bytes_ = bytes_ > most_bytes_ ? bytes_ : most_bytes_;
  }

  std::map<void*, size_t> in_use_;
  std::multimap<size_t, void*> kept_;
  size_t bytes_ = 0;
  size_t kept_bytes_ = 0;
  size_t most_bytes_ = 0;
};

}  // namespace executorch::extension
