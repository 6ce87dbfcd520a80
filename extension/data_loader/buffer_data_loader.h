// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <executorch/extension/data_loader/data_range.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader over memory that someone else owns: the memory must outlive the loader and all that
/// is loaded. Nothing is copied. For a program the memory must be aligned to 16 bytes. Loading from
/// null memory returns InvalidState.
class BufferDataLoader final : public executorch::runtime::DataLoader {
 public:
  BufferDataLoader(const void* data, size_t size)
      : data_(static_cast<const uint8_t*>(data)), size_(size) {}

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo&) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check_memory());
    ET_CHECK_OK_OR_RETURN_ERROR(internal::check_data_range("buffer", offset, size, size_));
    return executorch::runtime::FreeableBuffer(data_ + offset, size, nullptr);
  }

  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo&,
                                       void* buffer) const override {
    ET_CHECK_OK_OR_RETURN_ERROR(check_memory());
    ET_CHECK_OK_OR_RETURN_ERROR(internal::check_data_copy("buffer", offset, size, size_, buffer));
    if (size > 0) {
      memcpy(buffer, data_ + offset, size);
    }
    return executorch::runtime::Error::Ok;
  }

  executorch::runtime::Result<size_t> size() const override { return size_; }

 private:
  executorch::runtime::Error check_memory() const {
    ET_CHECK_OR_RETURN_ERROR(data_ != nullptr || size_ == 0, InvalidState,
                             "buffer: %zu bytes at a null pointer", size_);
    return executorch::runtime::Error::Ok;
  }

  const uint8_t* data_;
  size_t size_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::BufferDataLoader;
}  // namespace torch::executor::util
