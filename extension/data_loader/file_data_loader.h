// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader that reads pieces of a file into separate memory, which may outlive the loader.
class FileDataLoader final : public executorch::runtime::DataLoader {
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

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& segment_info) const override;
  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                       void* buffer) const override;
  executorch::runtime::Result<size_t> size() const override;

 private:
  FileDataLoader(internal::FileDescriptor file, size_t alignment)
      : file_(std::move(file)), alignment_(alignment) {}

  internal::FileDescriptor file_;
  size_t alignment_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::FileDataLoader;
}  // namespace torch::executor::util
