// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Contents of a .model file of sentencepiece after checks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/llm/tokenizers/pieces/char_map.h>
#include <executorch/extension/llm/tokenizers/pieces/keyed_hash.h>
#include <executorch/extension/llm/tokenizers/pieces/piece_index.h>
#include <executorch/extension/llm/tokenizers/pieces/unigram.h>
#include <pytorch/tokenizers/result.h>

namespace tokenizers::internal {

struct SentencePieceModel {
  /// Numbers as in the file.
  enum class Algorithm : uint8_t { Unigram = 1, BytePairs = 2 };
  enum class Type : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::Normal;
  };

  Algorithm algorithm = Algorithm::Unigram;
  std::vector<Piece> pieces;
  /// Pieces that text can hold: normal, user-defined and unused ones. The others in `reserved`.
  KeyedMap<std::string, uint64_t> ids, reserved;
  PieceIndex index, user_defined;
  std::array<uint64_t, 256> byte_ids{};
  bool byte_fallback = false;
  uint64_t unknown = 0;
  std::optional<uint64_t> bos, eos;
  float min_score = 0, max_score = 0;
  std::string unknown_surface = " \xE2\x81\x87 ";

  std::optional<CharMap> char_map;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  bool whitespace_is_suffix = false;

  uint64_t id_of(const std::string& text) const;
  Result<std::string> normalize(std::string_view text) const;
  /// Pieces of normalized text.
  std::vector<PieceOfText> divide(const std::string& text) const;

 private:
  std::pair<std::string_view, size_t> normalize_prefix(std::string_view text) const;
  std::vector<PieceOfText> divide_unigram(const std::string& text) const;
  std::vector<PieceOfText> divide_pairs(const std::string& text) const;
};

/// The space in pieces: U+2581.
constexpr std::string_view kSpacePiece = "\xE2\x96\x81";

/// ParseFailure, after a log message, for bytes that are not a model or one that is not supported.
Result<SentencePieceModel> read_sentencepiece(std::string_view bytes);

}  // namespace tokenizers::internal
