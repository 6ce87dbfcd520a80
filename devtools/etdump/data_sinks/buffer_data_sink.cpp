// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>

#include <string.h>

#include <executorch/runtime/core/overflow.h>

namespace executorch::etdump {

using runtime::Error;
using runtime::Result;

Result<BufferDataSink> BufferDataSink::create(runtime::Span<uint8_t> buffer, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "etdump: alignment is %zu, expected a power of two", alignment);
  return BufferDataSink(buffer, alignment);
}

Result<size_t> BufferDataSink::write(const void* ptr, size_t length) {
  const size_t begin = (used_ + alignment_ - 1) & ~(alignment_ - 1);
  size_t end = 0;
  if (runtime::add_overflows(begin, length, &end) || end > buffer_.size()) {
    return Error::OutOfResources;
  }
  if (length != 0) {
    memcpy(buffer_.data() + begin, ptr, length);
  }
  used_ = end;
  return begin;
}

}  // namespace executorch::etdump
