// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>
#include <executorch/runtime/core/span.h>

namespace executorch::etdump {

/// Writes the bytes to the caller's memory.
class BufferDataSink final : public DataSinkBase {
 public:
  /// @param buffer Must outlive the sink.
  /// @param alignment Alignment of offsets, a power of two; InvalidArgument otherwise.
  static runtime::Result<BufferDataSink> create(runtime::Span<uint8_t> buffer,
                                                size_t alignment = 64);
  static runtime::Result<BufferDataSink> create(void* ptr, size_t size, size_t alignment = 64) {
    return create({static_cast<uint8_t*>(ptr), size}, alignment);
  }

  runtime::Result<size_t> write(const void* ptr, size_t length) override;
  size_t get_used_bytes() const override { return used_; }
  runtime::Result<size_t> get_storage_size() const { return buffer_.size(); }

 private:
  BufferDataSink(runtime::Span<uint8_t> buffer, size_t alignment)
      : buffer_(buffer), alignment_(alignment) {}

  runtime::Span<uint8_t> buffer_;
  size_t alignment_;
  size_t used_ = 0;
};

}  // namespace executorch::etdump
