// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>
#include <utility>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader over memory that it keeps alive: the loader must outlive all that is loaded.
/// Nothing is copied. For a program the memory must be aligned to 16 bytes. Loading with
/// a loader that was moved from returns InvalidState.
class SharedPtrDataLoader final : public executorch::runtime::DataLoader {
 public:
  SharedPtrDataLoader(std::shared_ptr<void> data, size_t size)
      : data_(std::move(data)), size_(size) {}

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& segment_info) const override {
    return loader().load(offset, size, segment_info);
  }

  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                       void* buffer) const override {
    return loader().load_into(offset, size, segment_info, buffer);
  }

  executorch::runtime::Result<size_t> size() const override {
    ET_CHECK_OR_RETURN_ERROR(data_ != nullptr || size_ == 0, InvalidState,
                             "buffer: %zu bytes at a null pointer", size_);
    return size_;
  }

 private:
  BufferDataLoader loader() const { return {data_.get(), size_}; }

  std::shared_ptr<void> data_;
  size_t size_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::SharedPtrDataLoader;
}  // namespace torch::executor::util
