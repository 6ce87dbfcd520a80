// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/copying_loader.h>

namespace executorch::extension {

/// A DataLoader that reads pieces of a file into separate memory, which may outlive the loader.
class FileDataLoader final : public internal::CopyingLoader {
 public:
  /// Opens the file. Pieces are aligned to `alignment`, a power of two. NotFound if the file does
  /// not exist, AccessFailed if it cannot be read, InvalidArgument for a null name or an invalid
  /// alignment.
  static executorch::runtime::Result<FileDataLoader> from(const char* file_name,
                                                          size_t alignment = alignof(max_align_t));

  /// Deprecated name of from().
  static executorch::runtime::Result<FileDataLoader> From(const char* file_name,
                                                          size_t alignment = alignof(max_align_t)) {
    return from(file_name, alignment);
  }

  FileDataLoader(FileDataLoader&&) noexcept = default;

 private:
  FileDataLoader(internal::FileDescriptor file, size_t alignment)
      : CopyingLoader(std::move(file), alignment) {}
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::FileDataLoader;
}  // namespace torch::executor::util
