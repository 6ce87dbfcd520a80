// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/trace_tables.h>

namespace executorch::etdump {
namespace {

constexpr size_t kFields = sizeof(TableLayout::offsets) / sizeof(uint16_t);
constexpr char kIdentifier[4] = {'E', 'D', '0', '0'};

uint32_t read_u32(const uint8_t* bytes) {
  uint32_t value = 0;
  memcpy(&value, bytes, sizeof(value));
  return value;
}

void write_u32(uint8_t* bytes, uint32_t value) { memcpy(bytes, &value, sizeof(value)); }

/// Hashes eight bytes at a time, because every event hashes its name.
size_t hash_of(const char* text, size_t length) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;  // 2^64 by the golden ratio
  uint64_t hash = length * kFactor;
  while (length > 0) {
    uint64_t word = 0;
    const size_t taken = length < sizeof(word) ? length : sizeof(word);
    memcpy(&word, text, taken);
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 32;
    text += taken;
    length -= taken;
  }
  return static_cast<size_t>(hash);
}

}  // namespace

void TraceTables::clear() {
  vtable_count_ = 0;
  memset(strings_, 0, sizeof(strings_));
}

Place TraceTables::vtable(const TableLayout& layout, uint32_t present) {
  for (size_t i = 0; i < vtable_count_; ++i) {
    if (vtables_[i].layout == &layout && vtables_[i].present == present) {
      return vtables_[i].place;
    }
  }
  uint16_t words[2 + kFields] = {0, layout.size};
  size_t count = 2;
  for (size_t i = 0; i < kFields && (present >> i) != 0; ++i) {
    words[count++] = (present >> i & 1) != 0 ? layout.offsets[i] : 0;
  }
  words[0] = static_cast<uint16_t>(count * sizeof(uint16_t));
  const Place place = buffer_.take(words[0], sizeof(uint16_t));
  memcpy(buffer_.at(place), words, words[0]);
  if (vtable_count_ < kVtables) {
    vtables_[vtable_count_++] = {&layout, present, place};
  }
  return place;
}

Place TraceTables::table(const TableLayout& layout, uint32_t present) {
  const Place shape = vtable(layout, present);
  const Place place = buffer_.take(layout.size, 8);
  // A table stores the distance back to its vtable, here a wrapped negative number: places count
  // from the end, and this vtable lies after the table.
  write_u32(buffer_.at(place), shape - place);
  return place;
}

Place TraceTables::two_tables(const TableLayout& outer, uint32_t field, const TableLayout& inner,
                              uint32_t inner_present) {
  const Place outer_shape = vtable(outer, 1U << field);
  const Place inner_shape = vtable(inner, inner_present);
  const Place place = buffer_.take(outer.size + inner.size, 8);
  const Place second = second_of(place, outer);
  write_u32(buffer_.at(place), outer_shape - place);
  write_u32(buffer_.at(second), inner_shape - second);
  refer(place, outer, field, second);
  return place;
}

void TraceTables::refer_at(uint8_t* field, Place target) {
  write_u32(field, static_cast<uint32_t>(buffer_.at(target) - field));
}

Place TraceTables::vector(size_t count, size_t element, size_t trailing) {
  // Align the elements, which follow the count.
  const size_t bytes = count * element + trailing;
  if (element > sizeof(uint32_t)) {
    buffer_.take(bytes, element);
    const Place place = buffer_.take(sizeof(uint32_t), sizeof(uint32_t));
    write_u32(buffer_.at(place), static_cast<uint32_t>(count));
    return place;
  }
  const Place place = buffer_.take(sizeof(uint32_t) + bytes, sizeof(uint32_t));
  write_u32(buffer_.at(place), static_cast<uint32_t>(count));
  return place;
}

Place TraceTables::bytes(const void* data, size_t length) {
  const Place place = vector(length, 1, 0);
  if (length != 0) {
    memcpy(buffer_.at(place) + sizeof(uint32_t), data, length);
  }
  return place;
}

Place TraceTables::string(const char* text, size_t length) {
  Place& known = strings_[hash_of(text, length) % kStrings];
  if (known != 0) {
    const uint8_t* other = buffer_.at(known);
    if (read_u32(other) == length && memcmp(other + sizeof(uint32_t), text, length) == 0) {
      return known;
    }
  }
  known = vector(length, 1, 1);
  memcpy(buffer_.at(known) + sizeof(uint32_t), text, length);
  return known;
}

bool TraceTables::is_string(Place place, const char* text) {
  // A flatbuffer string ends with a 0 byte, like the text.
  return strcmp(reinterpret_cast<const char*>(buffer_.at(place)) + sizeof(uint32_t), text) == 0;
}

Place TraceTables::longs(const int64_t* values, size_t count) {
  const Place place = vector(count, sizeof(int64_t), 0);
  if (count != 0) {
    memcpy(buffer_.at(place) + sizeof(uint32_t), values, count * sizeof(int64_t));
  }
  return place;
}

Place TraceTables::tables(const Place* places, size_t count) {
  const Place place = vector(count, sizeof(uint32_t), 0);
  for (size_t i = 0; i < count; ++i) {
    refer_at(buffer_.at(place) + (i + 1) * sizeof(uint32_t), places[i]);
  }
  return place;
}

Place TraceTables::listed_tables(size_t first, size_t count) {
  const Place place = vector(count, sizeof(uint32_t), 0);
  for (size_t i = 0; i < count; ++i) {
    refer_at(buffer_.at(place) + (i + 1) * sizeof(uint32_t), buffer_.listed(first + i));
  }
  return place;
}

Place TraceTables::finish(Place root) {
  // Size, root, identifier: 12 bytes. Their beginning must be aligned.
  const Place place = buffer_.take(3 * sizeof(uint32_t), 8);
  uint8_t* header = buffer_.at(place);
  write_u32(header, place - static_cast<uint32_t>(sizeof(uint32_t)));
  refer_at(header + sizeof(uint32_t), root);
  memcpy(header + 2 * sizeof(uint32_t), kIdentifier, sizeof(kIdentifier));
  return place;
}

}  // namespace executorch::etdump
