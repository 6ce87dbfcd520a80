// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>

namespace executorch::backends::xnnpack {

/// Memory for the packed weights of one runtime, in large pages where the system has them: page
/// faults of small pages would take longer than packing. The arena is freed with its last
/// reference; up to 64 MiB, the limit of glibc's cache, stay for the next arena.
class PackedArena final {
 public:
  /// Physical memory is used only as it is written. Null if the reservation fails.
  /// @param least Minimum size of a destroyed arena's memory to be reused.
  static std::shared_ptr<PackedArena> create(size_t capacity, size_t least);
  ~PackedArena();
  PackedArena(const PackedArena&) = delete;
  PackedArena& operator=(const PackedArena&) = delete;

  /// Memory aligned to 64; null if the remaining capacity is too small.
  /// @param overwritten The caller writes all of it, so it need not be zeros.
  void* take(size_t size, bool overwritten);
  /// Frees `piece` if it is the last one taken.
  void give_back(void* piece);
  /// Returns the rest to the system. take() must not be called afterwards.
  void close();

 private:
  PackedArena(char* data, size_t capacity, bool is_zeros)
      : data_(data), capacity_(capacity), is_zeros_(is_zeros) {}

  char* data_;
  size_t capacity_;
  /// True if the memory that was not taken is zeros.
  bool is_zeros_;
  size_t used_ = 0;
  size_t last_ = 0;
};

}  // namespace executorch::backends::xnnpack
