// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>

namespace executorch::backends::xnnpack {

/// Memory for the packed weights of one runtime, in large pages where the system has them: taking
/// it page by page would last longer than packing. All of it goes when nobody holds it any more;
/// up to 64 MiB, which is what glibc keeps, stay for the next arena.
class PackedArena final {
 public:
  /// Memory is only used up as it is written to. Null if there is none.
  /// @param least What the memory of an arena that ended must hold to be used again.
  static std::shared_ptr<PackedArena> create(size_t capacity, size_t least);
  ~PackedArena();
  PackedArena(const PackedArena&) = delete;
  PackedArena& operator=(const PackedArena&) = delete;

  /// Memory at a multiple of 64; null if that is more than what is left.
  /// @param overwritten Whether all of it is written to, and so need not be zeros.
  void* take(size_t size, bool overwritten);
  /// Takes back what was taken last, if `piece` is that.
  void give_back(void* piece);
  /// Gives the system what was not taken; nothing can be taken from here on.
  void close();

 private:
  PackedArena(char* data, size_t capacity, bool is_zeros)
      : data_(data), capacity_(capacity), is_zeros_(is_zeros) {}

  char* data_;
  size_t capacity_;
  /// What was not taken.
  bool is_zeros_;
  size_t used_ = 0;
  size_t last_ = 0;
};

}  // namespace executorch::backends::xnnpack
