// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader over an open file, given as a URI with its descriptor. Loaded data may outlive the
/// loader.
class FileDescriptorDataLoader final : public executorch::runtime::DataLoader {
 public:
  /// Creates a loader from a URI such as "fd:///3". The loader takes ownership of the descriptor.
  /// Pieces are aligned to `alignment`, a power of two. InvalidArgument for an invalid URI or
  /// alignment, AccessFailed unless the descriptor is an open, regular file.
  static executorch::runtime::Result<FileDescriptorDataLoader> fromFileDescriptorUri(
      const char* file_descriptor_uri, size_t alignment = alignof(max_align_t));

  FileDescriptorDataLoader(FileDescriptorDataLoader&&) noexcept = default;

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& segment_info) const override;
  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                       void* buffer) const override;
  executorch::runtime::Result<size_t> size() const override;

 private:
  FileDescriptorDataLoader(internal::FileDescriptor file, size_t alignment)
      : file_(std::move(file)), alignment_(alignment) {}

  internal::FileDescriptor file_;
  size_t alignment_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::FileDescriptorDataLoader;
}  // namespace torch::executor::util
