// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The library of operators that the engine lacks: XNNPACK, or none (EXECUTORCH_XNNPACK_LIBRARY).
#pragma once

#include <stddef.h>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>
#include <executorch/extension/memory_allocator/byte_budget.h>

namespace executorch::backends::xnnpack {

/// False in a build without XNNPACK.
bool has_library();

/// Starts the library at the first call; false if it cannot run on this machine.
bool start_library();

/// Identifies the library, and the processor's features that its packed weights depend on.
Digest library_digest();

/// True if an allocation of the library failed on this thread since forget_shortage(). Operators
/// that it created or ran since then must not be used.
bool has_run_out();
void forget_shortage();

/// While it exists, counts the memory that the library takes and returns on this thread, such as
/// packed weights or the addresses of all pixels under a window. An allocation fails beyond a
/// limit.
class LibraryMemory final {
 public:
  /// @param bytes The memory in use, which it changes.
  /// @param limit Maximum number of these bytes.
  /// @param limit_of_all Maximum number of bytes of all delegates.
  LibraryMemory(extension::TakenBytes* bytes, size_t limit, size_t limit_of_all);
  ~LibraryMemory();
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  /// True after an allocation exceeded a limit.
  bool is_exceeded() const { return is_exceeded_; }

  /// The object of this thread, or null.
  static LibraryMemory* current();
  /// Counts `size` bytes before they are allocated. False, without effect, if they exceed a limit;
  /// always true for a small size, because XNNPACK does not check each small allocation.
  bool take(size_t size);
  /// Corrects the count of a block from `counted` bytes to `actual`.
  void correct(size_t counted, size_t actual);

 private:
  extension::TakenBytes* bytes_;
  const size_t limit_, limit_of_all_;
  bool is_exceeded_ = false;
};

}  // namespace executorch::backends::xnnpack
