// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader over a file that someone else opened, given as a URI with its descriptor. What is
/// loaded does not need the loader any more.
class FileDescriptorDataLoader final : public executorch::runtime::DataLoader {
 public:
  /// From "fd:///3", say: descriptor 3, which the loader takes over and closes. Every piece begins
  /// at a multiple of `alignment`, a power of two. InvalidArgument for another URI or alignment,
  /// AccessFailed if the descriptor is no open, regular file.
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
