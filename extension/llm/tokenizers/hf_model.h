// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Contents of a tokenizer.json after checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/llm/tokenizers/merge.h>
#include <executorch/extension/llm/tokenizers/regex.h>

namespace tokenizers::internal {

/// A step of the normalizer.
struct Normalizer {
  enum class Kind : uint8_t { Replace, ReplacePattern, Prepend, Lowercase, Nfc, Nfd, Nfkc, Nfkd };
  Kind kind;
  std::string from, to;
  std::optional<Regex> pattern;
};

/// A step that divides text into words.
struct PreTokenizer {
  enum class Kind : uint8_t { Split, Bytes };
  /// What becomes of the matches: words of their own, nothing, or the end or the beginning of the
  /// word beside them.
  enum class Behavior : uint8_t { Isolated, Removed, MergedWithPrevious, MergedWithNext };
  Kind kind = Kind::Split;
  std::optional<Regex> pattern;
  Behavior behavior = Behavior::Isolated;
  /// The matches are the words, and the text between them what is divided at.
  bool invert = false;
  /// Of Bytes: a space in front of text that begins without one.
  bool add_prefix_space = false;
};

struct Decoder {
  enum class Kind : uint8_t { Bytes, Replace, ByteFallback, Fuse, Strip };
  Kind kind;
  std::string from, to;
  /// Of Strip: how many characters go at the start of a text.
  size_t start = 0;
};

struct AddedToken {
  uint64_t id;
  std::string content;
  bool special;
};

struct HfModel {
  std::unordered_map<std::string, uint64_t> ids;
  std::unordered_map<uint64_t, std::string> pieces;
  struct PairHash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& pair) const {
      return size_t(pair.first * 0x9E3779B97F4A7C15u ^ (pair.second + (pair.first >> 7)));
    }
  };
  std::unordered_map<std::pair<uint64_t, uint64_t>, Merge, PairHash> merges;
  std::optional<uint64_t> unknown;
  bool byte_fallback = false, fuse_unknown = false, ignore_merges = false;

  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  std::vector<Decoder> decoders;
  /// By content; longer ones are tried first.
  std::unordered_map<std::string, AddedToken> added;
  std::vector<size_t> added_lengths;
  std::unordered_set<uint64_t> special;
  std::optional<uint64_t> bos, eos;
  uint64_t highest = 0;
};

/// Reads a tokenizer.json and the files beside it. Errors after a log message.
Result<HfModel> read_hf_model(const std::string& path);

/// The character that stands for a byte in byte-level vocabularies, as UTF-8.
const std::string& character_of_byte(uint8_t byte);
/// The reverse, of a code point; -1 if it stands for none.
int byte_of_character(uint32_t point);

Result<std::string> normalize(const HfModel& model, std::string text);
/// The words of normalized text.
Result<std::vector<std::string>> divide(const HfModel& model, const std::string& text);

}  // namespace tokenizers::internal
