// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Models of tokenizer.json: from words to tokens.
#include <algorithm>
#include <cmath>
#include <random>

#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/pieces/unigram.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {
namespace {

/// Appends a token for each byte of `text`; false if the vocabulary lacks one.
bool append_bytes(const HfModel& model, std::string_view text, std::vector<uint64_t>& tokens) {
  const size_t size = tokens.size();
  for (const char byte : text) {
    static const char* const kDigits = "0123456789ABCDEF";
    const std::string piece = {
        '<', '0', 'x', kDigits[uint8_t(byte) >> 4], kDigits[uint8_t(byte) & 15], '>'};
    const auto id = model.ids.find(piece);
    if (id == model.ids.end()) {
      tokens.resize(size);
      return false;
    }
    tokens.push_back(id->second);
  }
  return true;
}

/// Draws the number of merges to skip before the next one that happens, each skipped with the
/// model's probability.
size_t skipped_merges(double dropout) {
  static thread_local std::mt19937 generator{std::random_device{}()};
  if (dropout >= 1) return SIZE_MAX;
  const double uniform = 1 - std::generate_canonical<double, 53>(generator);
  return size_t(std::min(std::log(uniform) / std::log(dropout), double(SIZE_MAX / 2)));
}

/// The symbols of a word: characters that the vocabulary has, bytes of the others, or "unknown".
std::vector<uint64_t> symbols_of(const HfModel& model, std::string_view word) {
  std::vector<uint64_t> symbols;
  // As in the package "tokenizers", an unknown character comes after bytes that follow it.
  bool has_unknown = false;
  const auto add_unknown = [&] {
    if (has_unknown) symbols.push_back(*model.unknown);
    has_unknown = false;
  };
  for (bool is_first = true; !word.empty(); is_first = false) {
    const size_t length = internal::character_length(word);
    std::string symbol = is_first ? std::string() : model.continuing_prefix;
    symbol += word.substr(0, length);
    word.remove_prefix(length);
    if (word.empty()) symbol += model.word_suffix;
    const auto id = model.ids.find(symbol);
    if (id != model.ids.end()) {
      add_unknown();
      symbols.push_back(id->second);
      continue;
    }
    if (model.byte_fallback && append_bytes(model, symbol, symbols)) continue;
    // Without an unknown token, a character that neither a piece nor bytes represent is omitted.
    if (!model.unknown.has_value()) continue;
    if (!model.fuse_unknown) add_unknown();
    has_unknown = true;
  }
  add_unknown();
  return symbols;
}

void encode_byte_pairs(const HfModel& model, const std::string& word,
                       std::vector<uint64_t>& tokens) {
  if (model.ignore_merges) {
    const auto whole = model.ids.find(word);
    if (whole != model.ids.end()) {
      tokens.push_back(whole->second);
      return;
    }
  }
  const auto find = [&](uint64_t left, uint64_t right, Merge& merge) {
    const auto rule = model.merges.find({left, right});
    if (rule == model.merges.end()) return false;
    merge = rule->second;
    return true;
  };
  const auto merged = model.dropout > 0
                          ? merge_symbols<AnyPlace>(symbols_of(model, word), find,
                                                    [&] { return skipped_merges(model.dropout); })
                          : merge_symbols(symbols_of(model, word), find);
  tokens.insert(tokens.end(), merged.begin(), merged.end());
}

/// Takes the longest piece that the word begins with, and repeats with the rest. A word with a part
/// that matches no piece is unknown as a whole.
void encode_word_pieces(const HfModel& model, const std::string& word,
                        std::vector<uint64_t>& tokens) {
  size_t characters = 0;
  for (const char byte : word) characters += (uint8_t(byte) & 0xC0) != 0x80;
  const size_t size = tokens.size();
  bool is_known = characters <= model.max_word_characters;
  for (size_t at = 0; at < word.size() && is_known;) {
    const PieceIndex& index = at == 0 ? model.index : model.continuing_index;
    const auto [length, id] = index.longest(std::string_view(word).substr(at));
    is_known = length != 0;
    if (is_known) tokens.push_back(id);
    at += length;
  }
  if (is_known) return;
  tokens.resize(size);
  tokens.push_back(*model.unknown);
}

Error encode_unigram(const HfModel& model, const std::string& word, std::vector<uint64_t>& tokens) {
  constexpr uint64_t kNone = UINT64_MAX;
  const uint64_t unknown = model.unknown.value_or(kNone);
  const auto pieces =
      most_likely_pieces<double>(word, model.index, unknown, model.min_score - kUnknownPenalty,
                                 [&](uint64_t id, size_t, double& score) {
                                   score = model.scores[id];
                                   return true;
                                 });
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].id == kNone) {
      ET_LOG(Error, "tokenizer: text has characters that the vocabulary lacks, and no unk_id");
      return Error::EncodeFailure;
    }
    // Unknown neighbors are one piece.
    const size_t first = pieces[i].first;
    size_t last = i;
    while (pieces[i].id == unknown && last + 1 < pieces.size() && pieces[last + 1].id == unknown) {
      ++last;
    }
    i = last;
    const std::string piece = word.substr(first, pieces[last].first + pieces[last].length - first);
    const auto id = model.ids.find(piece);
    if (id != model.ids.end()) {
      tokens.push_back(id->second);
    } else if (!model.byte_fallback || !append_bytes(model, piece, tokens)) {
      tokens.push_back(unknown);
    }
  }
  return Error::Ok;
}

Error encode_whole_word(const HfModel& model, const std::string& word,
                        std::vector<uint64_t>& tokens) {
  const auto id = model.ids.find(word);
  if (id == model.ids.end() && !model.unknown.has_value()) {
    ET_LOG(Error, "tokenizer: the vocabulary lacks a word, and there is no unk_token");
    return Error::EncodeFailure;
  }
  tokens.push_back(id == model.ids.end() ? *model.unknown : id->second);
  return Error::Ok;
}

}  // namespace

Error encode_word(const HfModel& model, const std::string& word, std::vector<uint64_t>& tokens) {
  switch (model.algorithm) {
    case HfModel::Algorithm::Unigram:
      return encode_unigram(model, word, tokens);
    case HfModel::Algorithm::WordPiece:
      encode_word_pieces(model, word, tokens);
      return Error::Ok;
    case HfModel::Algorithm::WordLevel:
      return encode_whole_word(model, word, tokens);
    default:
      encode_byte_pairs(model, word, tokens);
      return Error::Ok;
  }
}

}  // namespace tokenizers::internal
