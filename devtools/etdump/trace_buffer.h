// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory that a flatbuffer is written into from its end towards its beginning, while a list of
// numbers grows from the beginning towards it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/span.h>

namespace executorch::etdump {

/// A place in the flatbuffer: its distance from the end of the memory, which stays what it is if
/// the memory grows. 0 is nowhere.
using Place = uint32_t;

/// Either the caller's memory, or memory of its own that doubles when it is full.
class TraceBuffer final {
 public:
  /// @param memory Must outlive this; empty: memory of its own.
  explicit TraceBuffer(runtime::Span<uint8_t> memory);
  ~TraceBuffer();
  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

  bool is_callers() const { return is_callers_; }

  /// Forgets all that was written.
  void clear() { used_ = list_size_ = 0; }

  /// Returns whether there are `bytes` more, list and flatbuffer together; grows memory of its own.
  bool has_room_for(size_t bytes) {
    return bytes <= size_ - used_ - list_size_ * sizeof(Place) || grow(bytes);
  }

  // What follows takes memory that has_room_for() has granted.

  /// `bytes` at a multiple of `alignment` from the end, of which the last is followed by `after`
  /// bytes of padding at most; all zero.
  Place take(size_t bytes, size_t alignment);
  uint8_t* at(Place place) { return end_ - place; }

  size_t list_size() const { return list_size_; }
  Place listed(size_t index) const;
  void put(size_t index, Place value);
  void push(Place value) { put(list_size_++, value); }
  void pop_to(size_t size) { list_size_ = size; }

  /// The bytes written from the end, and back to a former number of them.
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
