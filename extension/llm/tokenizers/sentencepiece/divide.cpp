// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Normalizes text and divides it into pieces as sentencepiece does.
#include <algorithm>
#include <utility>

#include <executorch/extension/llm/tokenizers/pieces/merge.h>
#include <executorch/extension/llm/tokenizers/sentencepiece/model.h>
#include <executorch/extension/llm/tokenizers/text_budget.h>
#include <executorch/extension/llm/tokenizers/utf8.h>

namespace tokenizers::internal {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

uint64_t SentencePieceModel::id_of(const std::string& text) const {
  const auto special = reserved.find(text);
  if (special != reserved.end()) return special->second;
  const auto id = ids.find(text);
  return id == ids.end() ? unknown : id->second;
}

/// The text that replaces the beginning of `text`, and how many bytes it replaces.
std::pair<std::string_view, size_t> SentencePieceModel::normalize_prefix(
    std::string_view text) const {
  const size_t verbatim = user_defined.longest(text).first;
  if (verbatim != 0) return {text.substr(0, verbatim), verbatim};
  if (char_map.has_value()) {
    const auto [length, replacement] = char_map->longest(text);
    if (length != 0) return {replacement, length};
  }
  const size_t length = character_length(text);
  if (length == 0) return {"\xEF\xBF\xBD", 1};
  return {text.substr(0, length), length};
}

Result<std::string> SentencePieceModel::normalize(std::string_view text) const {
  TextBudget budget(text.size());
  const std::string_view space = escape_whitespaces ? kSpacePiece : std::string_view(" ");
  while (remove_extra_whitespaces && !text.empty()) {
    const auto [normalized, length] = normalize_prefix(text);
    if (normalized != " ") break;
    text.remove_prefix(length);
  }
  std::string result;
  if (text.empty()) return result;
  if (!whitespace_is_suffix && add_dummy_prefix) result += space;
  bool is_behind_space = remove_extra_whitespaces;
  while (!text.empty()) {
    auto [normalized, length] = normalize_prefix(text);
    text.remove_prefix(length);
    const Error error = budget.spend(normalized.size());
    if (error != Error::Ok) return error;
    while (is_behind_space && !normalized.empty() && normalized[0] == ' ')
      normalized.remove_prefix(1);
    for (const char byte : normalized) {
      if (byte == ' ') {
        result += space;
      } else {
        result += byte;
      }
    }
    if (!normalized.empty()) is_behind_space = ends_with(normalized, " ");
    if (!remove_extra_whitespaces) is_behind_space = false;
  }
  while (remove_extra_whitespaces && ends_with(result, space)) {
    result.resize(result.size() - space.size());
  }
  if (whitespace_is_suffix && add_dummy_prefix) result += space;
  return result;
}

std::vector<PieceOfText> SentencePieceModel::divide(const std::string& text) const {
  return algorithm == Algorithm::Unigram ? divide_unigram(text) : divide_pairs(text);
}

std::vector<PieceOfText> SentencePieceModel::divide_unigram(const std::string& text) const {
  return most_likely_pieces<float>(text, index, unknown, min_score - kUnknownPenalty,
                                   [&](uint64_t id, size_t length, double& score) {
                                     const Piece& piece = pieces[id];
                                     // User-defined pieces are preferred to all others.
                                     score = piece.type == Type::UserDefined
                                                 ? float(length) * max_score - 0.1
                                                 : double(piece.score);
                                     return piece.type != Type::Unused;
                                   });
}

std::vector<PieceOfText> SentencePieceModel::divide_pairs(const std::string& text) const {
  struct Span {
    size_t first, length;
    bool is_frozen;
  };
  std::vector<Span> spans;
  std::vector<uint64_t> symbols;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const size_t verbatim = user_defined.longest(rest).first;
    const size_t character = std::max<size_t>(character_length(rest), 1);
    symbols.push_back(spans.size());
    spans.push_back({at, verbatim != 0 ? verbatim : character, verbatim != 0});
    at += spans.back().length;
  }
  // Parts of unused pieces, which are divided again at the end.
  KeyedMap<std::string, std::pair<std::string, std::string>> parts;
  std::string piece;
  const auto merged = merge_symbols(symbols, [&](uint64_t left, uint64_t right, Merge& merge) {
    const Span first = spans[left], second = spans[right];
    if (first.is_frozen || second.is_frozen) return false;
    piece.assign(text, first.first, first.length + second.length);
    const auto id = ids.find(piece);
    if (id == ids.end()) return false;
    merge = {-double(pieces[id->second].score), spans.size()};
    spans.push_back({first.first, piece.size(), false});
    if (pieces[id->second].type == Type::Unused) {
      parts[piece] = {piece.substr(0, first.length), piece.substr(first.length)};
    }
    return true;
  });
  std::vector<PieceOfText> result;
  std::vector<std::string> pending;
  for (const uint64_t symbol : merged) {
    size_t at = spans[symbol].first;
    pending.push_back(text.substr(at, spans[symbol].length));
    while (!pending.empty()) {
      piece = std::move(pending.back());
      pending.pop_back();
      const uint64_t id = id_of(piece);
      const auto divided = parts.find(piece);
      if (pieces[id].type == Type::Unused && divided != parts.end()) {
        pending.push_back(divided->second.second);
        pending.push_back(divided->second.first);
        continue;
      }
      result.push_back({at, piece.size(), id});
      at += piece.size();
    }
  }
  return result;
}

}  // namespace tokenizers::internal
