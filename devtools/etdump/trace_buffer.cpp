// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/trace_buffer.h>

#include <stdlib.h>
#include <string.h>

namespace executorch::etdump {
namespace {

/// Places have 32 bits; the offsets from tables to vtables are signed.
constexpr size_t kMaxBytes = INT32_MAX;
constexpr size_t kFirstBytes = 64 * 1024;

}  // namespace

TraceBuffer::TraceBuffer(runtime::Span<uint8_t> memory)
    : begin_(memory.data()),
      end_(memory.data() + (memory.size() < kMaxBytes ? memory.size() : kMaxBytes)),
      size_(static_cast<size_t>(end_ - begin_)),
      is_callers_(memory.data() != nullptr) {}

TraceBuffer::~TraceBuffer() {
  if (!is_callers_) {
    free(begin_);
  }
}

bool TraceBuffer::grow(size_t bytes) {
  const size_t list_bytes = list_size_ * sizeof(Place);
  const size_t needed = used_ + list_bytes + bytes;
  if (is_callers_ || bytes > kMaxBytes || needed > kMaxBytes) {
    return false;
  }
  size_t size = size_ == 0 ? kFirstBytes : size_;
  while (size < needed) {
    size *= 2;
  }
  auto* memory = static_cast<uint8_t*>(malloc(size));
  if (memory == nullptr) {
    return false;
  }
  if (begin_ != nullptr) {
    memcpy(memory, begin_, list_bytes);
    memcpy(memory + size - used_, end_ - used_, used_);
    free(begin_);
  }
  begin_ = memory;
  end_ = memory + size;
  size_ = size;
  return true;
}

Place TraceBuffer::take(size_t bytes, size_t alignment) {
  const size_t used = (used_ + bytes + alignment - 1) & ~(alignment - 1);
  memset(end_ - used, 0, used - used_);
  used_ = used;
  return static_cast<Place>(used);
}

Place TraceBuffer::listed(size_t index) const {
  Place value = 0;
  memcpy(&value, begin_ + index * sizeof(Place), sizeof(Place));
  return value;
}

void TraceBuffer::put(size_t index, Place value) {
  memcpy(begin_ + index * sizeof(Place), &value, sizeof(Place));
}

}  // namespace executorch::etdump
