// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/copying_loader.h>

namespace executorch::extension {

/// A DataLoader over an open file, given as a URI with its descriptor. Loaded data may outlive the
/// loader.
class FileDescriptorDataLoader final : public internal::CopyingLoader {
 public:
  /// Creates a loader from a URI such as "fd:///3". The loader takes ownership of the descriptor.
  /// Pieces are aligned to `alignment`, a power of two. InvalidArgument for an invalid URI or
  /// alignment, AccessFailed unless the descriptor is an open, regular file.
  static executorch::runtime::Result<FileDescriptorDataLoader> fromFileDescriptorUri(
      const char* file_descriptor_uri, size_t alignment = alignof(max_align_t));

  FileDescriptorDataLoader(FileDescriptorDataLoader&&) noexcept = default;

 private:
  FileDescriptorDataLoader(internal::FileDescriptor file, size_t alignment)
      : CopyingLoader(std::move(file), alignment) {}
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::FileDescriptorDataLoader;
}  // namespace torch::executor::util
