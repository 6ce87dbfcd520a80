// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory shared by a flatbuffer, written from the end backwards, and a list of numbers that grows
// from the beginning.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/span.h>

namespace executorch::etdump {

/// A place in the flatbuffer as distance from the end of the memory, so that it stays valid when
/// the memory grows. 0: none.
using Place = uint32_t;

/// The caller's memory, or allocated memory that doubles when full.
class TraceBuffer final {
 public:
  /// @param memory Must outlive this. Empty: allocate.
  explicit TraceBuffer(runtime::Span<uint8_t> memory);
  ~TraceBuffer();
  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

  bool is_callers() const { return is_callers_; }

  /// Clears flatbuffer and list.
  void clear() { used_ = list_size_ = 0; }

  /// Returns whether `bytes` more fit, list and flatbuffer together; grows allocated memory.
  bool has_room_for(size_t bytes) {
    return bytes <= size_ - used_ - list_size_ * sizeof(Place) || grow(bytes);
  }

  // The functions below use memory that has_room_for() granted.

  /// Adds `bytes` zero bytes at a place that is a multiple of `alignment` from the end.
  Place take(size_t bytes, size_t alignment);
  uint8_t* at(Place place) { return end_ - place; }

  size_t list_size() const { return list_size_; }
  Place listed(size_t index) const;
  void put(size_t index, Place value);
  void push(Place value) { put(list_size_++, value); }
  void pop_to(size_t size) { list_size_ = size; }

  /// Number of bytes written from the end; truncation to an earlier number.
  size_t used() const { return used_; }
  void rewind(size_t used) { used_ = used; }

 private:
  bool grow(size_t bytes);

  uint8_t* begin_;
  uint8_t* end_;
  size_t size_;
  size_t used_ = 0;
  size_t list_size_ = 0;
  const bool is_callers_;
};

}  // namespace executorch::etdump
