// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The replacements of characters to which sentencepiece compiles its normalization rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tokenizers::internal {

/// A double-array trie of byte strings, and the texts to which its values are offsets. The trie may
/// be malformed: searches stay inside of it.
class CharMap {
 public:
  /// Reads the size of the trie in bytes, the trie, and the texts, each ended by a zero; nothing
  /// for bytes that do not have this form.
  static std::optional<CharMap> read(std::string_view bytes) {
    if (bytes.size() < 4) return std::nullopt;
    const uint32_t trie_bytes = number_at(bytes, 0);
    if (trie_bytes < 4 || trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4) return std::nullopt;
    CharMap map;
    map.units_.reserve(trie_bytes / 4);
    for (size_t i = 0; i < trie_bytes; i += 4) map.units_.push_back(number_at(bytes, 4 + i));
    map.texts_ = bytes.substr(4 + size_t(trie_bytes));
    return map;
  }

  /// Calls found(length, replacement) for the keys that `text` begins with, the shortest first.
  template <typename Visit>
  void each_prefix(std::string_view text, Visit&& visit) const {
    uint32_t node = offset_of(units_[0]);
    for (size_t i = 0; i < std::min(text.size(), kMaxKeyBytes); ++i) {
      const uint8_t byte = uint8_t(text[i]);
      node ^= byte;
      if (byte == 0 || node >= units_.size()) return;
      const uint32_t unit = units_[node];
      if ((unit & (kIsLeaf | 0xFF)) != byte) return;
      node ^= offset_of(unit);
      if ((unit >> 8 & 1) != 0) {
        if (node >= units_.size()) return;
        visit(i + 1, text_at(units_[node] & ~kIsLeaf));
      }
    }
  }

  /// The longest key that `text` begins with and its replacement; length 0 if there is none.
  std::pair<size_t, std::string_view> longest(std::string_view text) const {
    std::pair<size_t, std::string_view> best{0, {}};
    each_prefix(text, [&](size_t length, std::string_view to) { best = {length, to}; });
    return best;
  }
  /// The replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> shortest(std::string_view text) const {
    std::optional<std::string_view> first;
    each_prefix(text, [&](size_t, std::string_view to) {
      if (!first.has_value()) first = to;
    });
    return first;
  }

 private:
  static constexpr uint32_t kIsLeaf = 1u << 31;
  /// A malformed trie with a loop has keys without end; published keys have up to 20 bytes.
  static constexpr size_t kMaxKeyBytes = 1024;

  static uint32_t number_at(std::string_view bytes, size_t at) {
    uint32_t number = 0;
    for (size_t i = 0; i < 4; ++i) number |= uint32_t(uint8_t(bytes[at + i])) << (8 * i);
    return number;
  }
  static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
  std::string_view text_at(uint32_t offset) const {
    if (offset >= texts_.size()) return {};
    const std::string_view rest = std::string_view(texts_).substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace tokenizers::internal
