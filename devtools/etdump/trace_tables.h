// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Writer of the flatbuffer tables of an execution trace (identifier ED00); see
// https://flatbuffers.dev/internals.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <executorch/devtools/etdump/trace_buffer.h>

namespace executorch::etdump {

/// Layout of a table: `offsets[field]` counts from the table's beginning, whose first 4 bytes refer
/// to the vtable.
struct TableLayout {
  uint16_t size;
  uint16_t offsets[8];
};

// Absent fields are 0, so that trace.py can read tables whose vtable a truncated file lacks.
inline constexpr TableLayout kDumpLayout = {12, {4, 8}};
inline constexpr TableLayout kRunLayout = {20, {4, 8, 12, 16}};
inline constexpr TableLayout kAllocatorLayout = {8, {4}};
inline constexpr TableLayout kEventLayout = {16, {4, 8, 12}};
inline constexpr TableLayout kProfileLayout = {48, {4, 24, 28, 32, 36, 40, 8, 16}};
inline constexpr TableLayout kAllocationLayout = {16, {4, 8}};
inline constexpr TableLayout kDebugLayout = {32, {8, 16, 20, 24, 28, 4}};
inline constexpr TableLayout kValueLayout = {16, {4, 8, 8, 8, 8, 8, 8, 12}};
inline constexpr TableLayout kTensorLayout = {24, {4, 8, 12, 16}};
inline constexpr TableLayout kTensorListLayout = {8, {4}};
inline constexpr TableLayout kLongLayout = {16, {8}};  // Int, Double
inline constexpr TableLayout kShortLayout = {8, {4}};  // Bool

/// Writes tables, strings and vectors. Items must be written before the tables that refer to them.
/// Strings and vtables are shared if a hash table still remembers them.
class TraceTables final {
 public:
  explicit TraceTables(TraceBuffer& buffer) : buffer_(buffer) {}

  void clear();

  /// Largest number of bytes that table() takes, including vtable and alignment.
  static constexpr size_t kMaxTableBytes = 48 + 20 + 16;
  /// Largest number of bytes that string() and vector() take.
  static constexpr size_t bytes_of(size_t length, size_t element) { return length * element + 16; }

  /// Writes a table with the fields of the mask `present`, all 0.
  Place table(const TableLayout& layout, uint32_t present);

  /// Writes a table whose only field `field` is the table `inner`, directly after it. Returns the
  /// place of the outer table.
  Place two_tables(const TableLayout& outer, uint32_t field, const TableLayout& inner,
                   uint32_t inner_present);
  /// The place of the inner table; `outer` is the layout of the outer table.
  static constexpr Place second_of(Place first, const TableLayout& outer) {
    return first - outer.size;
  }

  template <typename T>
  void set(Place table, const TableLayout& layout, size_t field, T value) {
    memcpy(buffer_.at(table) + layout.offsets[field], &value, sizeof(T));
  }
  void refer(Place table, const TableLayout& layout, size_t field, Place target) {
    refer_at(buffer_.at(table) + layout.offsets[field], target);
  }

  Place string(const char* text, size_t length);
  /// Writes a null-terminated text.
  Place string(const char* text) { return string(text, strlen(text)); }
  /// Returns whether the string at `place` is `text`.
  bool is_string(Place place, const char* text);
  Place bytes(const void* data, size_t length);
  Place longs(const int64_t* values, size_t count);
  /// Writes a vector of `count` tables that the buffer lists from `first` on.
  Place listed_tables(size_t first, size_t count);
  Place tables(const Place* places, size_t count);

  /// Ends the flatbuffer with size prefix and header; returns its beginning.
  Place finish(Place root);

 private:
  struct Vtable {
    const TableLayout* layout;
    uint32_t present;
    Place place;
  };
  static constexpr size_t kVtables = 32;
  static constexpr size_t kStrings = 256;

  Place vtable(const TableLayout& layout, uint32_t present);
  Place vector(size_t count, size_t element, size_t trailing);
  /// Stores a forward reference as the distance between the two places.
  void refer_at(uint8_t* field, Place target);

  TraceBuffer& buffer_;
  Vtable vtables_[kVtables] = {};
  size_t vtable_count_ = 0;
  /// Last string of each hash; 0: none.
  Place strings_[kStrings] = {};
};

}  // namespace executorch::etdump
