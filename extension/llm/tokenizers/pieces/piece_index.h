// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Finds the pieces of a vocabulary that a text begins with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tokenizers::internal {

/// Sorted pieces. A search narrows a range of them by one byte at a time, so that it takes
/// O(length · log pieces) steps and no memory beyond the pieces.
class PieceIndex {
 public:
  PieceIndex() = default;
  /// Pieces are different; empty ones are ignored.
  explicit PieceIndex(std::vector<std::pair<std::string, uint64_t>> pieces)
      : pieces_(std::move(pieces)) {
    std::sort(pieces_.begin(), pieces_.end());
    size_t at = 0;
    while (at < pieces_.size() && pieces_[at].first.empty()) ++at;
    for (size_t byte = 0; byte < 256; ++byte) {
      begins_[byte] = at;
      while (at < pieces_.size() && uint8_t(pieces_[at].first[0]) == byte) ++at;
    }
    begins_[256] = at;
  }

  bool empty() const { return begins_[256] == begins_[0]; }

  /// Calls found(length, id) for each piece that `text` begins with, the shortest first.
  template <typename Visit>
  void each_prefix(std::string_view text, Visit&& visit) const {
    if (text.empty()) return;
    size_t first = begins_[uint8_t(text[0])], last = begins_[size_t(uint8_t(text[0])) + 1];
    for (size_t length = 1; first < last; ++length) {
      if (pieces_[first].first.size() == length) {
        visit(length, pieces_[first].second);
        ++first;
      }
      if (first == last || length == text.size()) return;
      // Compares a long common prefix of the pieces in blocks. The first piece is the shortest with
      // this prefix.
      const std::string &low = pieces_[first].first, &high = pieces_[last - 1].first;
      const size_t shared = std::min({low.size(), high.size(), text.size()});
      while (length >= kBlock && shared - length > kBlock &&
             std::memcmp(&low[length], &high[length], kBlock) == 0 &&
             std::memcmp(&low[length], &text[length], kBlock) == 0) {
        length += kBlock;
      }
      const auto byte_of = [&](size_t i) { return uint8_t(pieces_[i].first[length]); };
      const uint8_t byte = uint8_t(text[length]);
      first = narrow(first, last, [&](size_t i) { return byte_of(i) < byte; });
      last = narrow(first, last, [&](size_t i) { return byte_of(i) <= byte; });
    }
  }

  /// Length and id of the longest piece that `text` begins with; length 0 if there is none.
  std::pair<size_t, uint64_t> longest(std::string_view text) const {
    std::pair<size_t, uint64_t> best{0, 0};
    each_prefix(text, [&](size_t length, uint64_t id) { best = {length, id}; });
    return best;
  }

 private:
  static constexpr size_t kBlock = 64;

  /// The first index of [first, last) for which `is_before` does not hold.
  template <typename IsBefore>
  static size_t narrow(size_t first, size_t last, IsBefore&& is_before) {
    while (first < last) {
      const size_t middle = first + (last - first) / 2;
      if (is_before(middle)) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  std::vector<std::pair<std::string, uint64_t>> pieces_;
  /// For each byte, the index of the first piece that begins with it.
  std::array<size_t, 257> begins_{};
};

}  // namespace tokenizers::internal
