// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Identifies the file and offset of mapped memory. Facts about its contents stay valid until the
// file changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// Read-only file mappings of this process, queried on demand. Empty on systems other than Linux.
class MappedFiles final {
 public:
  /// @param answers_singly Query single addresses if the system supports it; otherwise read the
  /// list of all mappings.
  explicit MappedFiles(bool answers_singly = true);

  /// The digest of the place of `size` bytes at `data`: offset in the file, and the file's device,
  /// inode, size, and times of the last write and of the last change of its inode. None for other
  /// memory, for a replaced file, and for a file that changed just now, because another change
  /// could have the same time.
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

  /// The state of a file, which may have a mapping for each constant.
  struct File {
    uint64_t device;
    uint64_t inode;
    std::optional<Digest> state;
  };

  struct Close {
    void operator()(FILE* file) const { fclose(file); }
  };

  std::optional<View> view_at(uintptr_t address);
  std::optional<View> query_system(uintptr_t address);
  void read_all();
  const std::optional<Digest>& state_of(const View& view);

  std::unique_ptr<FILE, Close> maps_;
  /// All mappings by address, for systems without queries of single addresses.
  std::optional<std::vector<View>> views_;
  std::vector<File> files_;
};

}  // namespace executorch::backends::xnnpack
