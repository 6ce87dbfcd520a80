// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension::internal {

/// The loaders that read pieces of an open file into separate memory, aligned to `alignment`.
class CopyingLoader : public executorch::runtime::DataLoader {
 public:
  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo&) const override {
    return file_.read(offset, size, alignment_);
  }
  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo&,
                                       void* buffer) const override {
    return file_.read(offset, size, buffer);
  }
  executorch::runtime::Result<size_t> size() const override { return file_.size(); }

 protected:
  CopyingLoader(FileDescriptor file, size_t alignment)
      : file_(std::move(file)), alignment_(alignment) {}
  CopyingLoader(CopyingLoader&&) noexcept = default;

 private:
  FileDescriptor file_;
  size_t alignment_;
};

}  // namespace executorch::extension::internal
