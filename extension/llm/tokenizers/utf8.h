// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Characters of UTF-8 text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tokenizers::internal {

/// Bytes of the well-formed character that `text` begins with; 0 if there is none.
inline size_t character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return uint8_t(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// The code point of a well-formed character of `length` bytes.
inline uint32_t code_point(std::string_view text, size_t length) {
  if (length == 1) return uint8_t(text[0]);
  uint32_t point = uint8_t(text[0]) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) point = point << 6 | (uint8_t(text[i]) & 0x3Fu);
  return point;
}

inline void append_code_point(std::string& text, uint32_t point) {
  if (point < 0x80) {
    text += char(point);
  } else if (point < 0x800) {
    text += char(0xC0 | point >> 6);
    text += char(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    text += char(0xE0 | point >> 12);
    text += char(0x80 | (point >> 6 & 0x3F));
    text += char(0x80 | (point & 0x3F));
  } else {
    text += char(0xF0 | point >> 18);
    text += char(0x80 | (point >> 12 & 0x3F));
    text += char(0x80 | (point >> 6 & 0x3F));
    text += char(0x80 | (point & 0x3F));
  }
}

/// The byte that a piece such as <0x0A> stands for; -1 for other pieces.
inline int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>') return -1;
  int value = 0;
  for (const char digit : piece.substr(3, 2)) {
    const int part = digit >= '0' && digit <= '9'   ? digit - '0'
                     : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                     : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                    : -1;
    if (part < 0) return -1;
    value = value * 16 + part;
  }
  return value;
}

}  // namespace tokenizers::internal
