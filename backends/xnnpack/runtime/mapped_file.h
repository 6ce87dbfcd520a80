// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which file a piece of memory shows: what was once found out about its contents holds until the
// file is changed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <vector>

#include <executorch/backends/xnnpack/runtime/digest.h>

namespace executorch::backends::xnnpack {

/// The files that are mapped into this process now, for reading only. There are none where the
/// system does not tell (anywhere but on Linux).
class MappedFiles final {
 public:
  MappedFiles();

  /// Says from where in which file `size` bytes at `data` come, and the file's state: device,
  /// inode, size, times of the last write and of the last change of its inode. Nothing for other
  /// memory, for a file that was replaced, and for one that changed just now: another change
  /// could bear the same time.
  std::optional<Digest> place_of(const void* data, size_t size);

 private:
  struct View {
    uintptr_t begin;
    uintptr_t end;
    uint64_t offset;
    uint64_t inode;
    std::string path;
    bool is_asked = false;
    std::optional<Digest> state;
  };

  void add(const char* line);
  static std::optional<Digest> state_of(const View& view);

  /// By address.
  std::vector<View> views_;
};

}  // namespace executorch::backends::xnnpack
