// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The most likely division of a text into pieces that have probabilities of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <executorch/extension/llm/tokenizers/pieces/piece_index.h>

namespace tokenizers::internal {

struct PieceOfText {
  size_t first, length;
  uint64_t id;
};

/// Unknown characters are this much less likely (in log probability) than the least likely piece.
inline constexpr float kUnknownPenalty = 10;

/// Viterbi's algorithm from left to right. Among equally likely divisions, the first one found
/// wins. `score(id, length, result)` is false for a piece that may not be used. Sums of scores are
/// computed, and rounded, in type Score. A character that no piece covers becomes `unknown`.
template <typename Score, typename ScoreOf>
std::vector<PieceOfText> most_likely_pieces(std::string_view text, const PieceIndex& index,
                                            uint64_t unknown, Score unknown_score,
                                            ScoreOf&& score) {
  struct Node {
    size_t first = SIZE_MAX;
    uint64_t id = 0;
    Score score = 0;
  };
  std::vector<Node> ends(text.size() + 1);
  for (size_t at = 0; at < text.size();) {
    const Score so_far = ends[at].score;
    const auto offer = [&](size_t length, uint64_t id, Score total) {
      Node& node = ends[at + length];
      if (node.first == SIZE_MAX || total > node.score) node = {at, id, total};
    };
    const uint8_t byte = uint8_t(text[at]);
    const size_t of_byte = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const size_t character = std::min(of_byte, text.size() - at);
    bool is_covered = false;
    index.each_prefix(text.substr(at), [&](size_t length, uint64_t id) {
      double own = 0;
      if (!score(id, length, own)) return;
      offer(length, id, Score(own) + so_far);
      is_covered = is_covered || length == character;
    });
    if (!is_covered) offer(character, unknown, unknown_score + so_far);
    at += character;
  }
  std::vector<PieceOfText> pieces;
  for (size_t end = text.size(); end > 0; end = ends[end].first) {
    pieces.push_back({ends[end].first, end - ends[end].first, ends[end].id});
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace tokenizers::internal
