// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tokenizers::internal {

/// Reads the fields of a protobuf message one by one, without copies; the bytes must outlive it.
/// Groups, which no format here uses, count as malformed.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes) : rest_(bytes) {}

  /// Moves to the next field; false at the end and for a malformed one, which ok() distinguishes.
  bool next() {
    uint64_t tag = 0;
    if (rest_.empty()) return false;
    if (!take_varint(tag) || tag >> 3 == 0 || tag >> 3 > kMaxField) return fail();
    field_ = uint32_t(tag >> 3);
    wire_ = uint8_t(tag & 7);
    bytes_ = {};
    value_ = 0;
    switch (wire_) {
      case kVarint:
        return take_varint(value_) || fail();
      case kFixed64:
        return take_bytes(8) || fail();
      case kFixed32:
        return take_bytes(4) || fail();
      case kBytes: {
        uint64_t length = 0;
        return (take_varint(length) && take_bytes(length)) || fail();
      }
      default:
        return fail();
    }
  }

  bool ok() const { return ok_; }
  uint32_t field() const { return field_; }

  // Reads the value of the field; false if it has another type.
  bool get(std::string_view& value) const {
    value = bytes_;
    return wire_ == kBytes;
  }
  bool get(uint64_t& value) const {
    value = value_;
    return wire_ == kVarint;
  }
  bool get(bool& value) const {
    value = value_ != 0;
    return wire_ == kVarint;
  }
  bool get(float& value) const {
    if (wire_ != kFixed32) return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; ++i) bits |= uint32_t(uint8_t(bytes_[i])) << (8 * i);
    std::memcpy(&value, &bits, sizeof(value));
    return true;
  }

 private:
  static constexpr uint8_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
  static constexpr uint64_t kMaxField = (1u << 29) - 1;

  bool fail() {
    ok_ = false;
    rest_ = {};
    return false;
  }
  bool take_varint(uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      const uint64_t part = uint8_t(rest_[i]);
      if (i == 9 && part > 1) return false;
      value |= (part & 0x7F) << (7 * i);
      if (part < 0x80) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }
  bool take_bytes(uint64_t length) {
    if (length > rest_.size()) return false;
    bytes_ = rest_.substr(0, size_t(length));
    rest_.remove_prefix(size_t(length));
    return true;
  }

  std::string_view rest_, bytes_;
  uint64_t value_ = 0;
  uint32_t field_ = 0;
  uint8_t wire_ = 0;
  bool ok_ = true;
};

}  // namespace tokenizers::internal
