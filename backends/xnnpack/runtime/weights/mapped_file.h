// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which file a piece of memory shows: what was once found out about its contents holds until the
// file is changed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/backends/xnnpack/runtime/weights/digest.h>

namespace executorch::backends::xnnpack {

/// The files that are mapped into this process, for reading only, as they are asked for. There are
/// none where the system does not tell (anywhere but on Linux).
class MappedFiles final {
 public:
  /// @param answers_singly Whether the system is asked about single addresses, if it answers that;
  /// otherwise all that is mapped is read.
  explicit MappedFiles(bool answers_singly = true);

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
    uint64_t device;
    uint64_t inode;
    std::string path;
  };

  /// What was found of a file, which may have a mapping for each constant.
  struct File {
    uint64_t device;
    uint64_t inode;
    std::optional<Digest> state;
  };

  struct Close {
    void operator()(FILE* file) const { fclose(file); }
  };

  std::optional<View> view_at(uintptr_t address);
  std::optional<View> ask(uintptr_t address);
  void read_all();
  const std::optional<Digest>& state_of(const View& view);

  std::unique_ptr<FILE, Close> maps_;
  /// Of systems that do not answer for one address: all there are, by address.
  std::optional<std::vector<View>> views_;
  std::vector<File> files_;
};

}  // namespace executorch::backends::xnnpack
