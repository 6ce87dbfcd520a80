// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Contents of a tokenizer.json after checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/llm/tokenizers/pieces/char_map.h>
#include <executorch/extension/llm/tokenizers/pieces/keyed_hash.h>
#include <executorch/extension/llm/tokenizers/pieces/merge.h>
#include <executorch/extension/llm/tokenizers/pieces/piece_index.h>
#include <executorch/extension/llm/tokenizers/regex.h>
#include <executorch/extension/llm/tokenizers/text_budget.h>

namespace tokenizers::internal {

/// A step of the normalizer.
struct Normalizer {
  enum class Kind : uint8_t {
    Replace,
    ReplacePattern,
    Prepend,
    Lowercase,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    /// Removes white space at the beginning or the end.
    StripLeft,
    StripRight,
    /// Removes characters of category M, or of Mn only.
    DropMarks,
    DropNonspacing,
    /// BERT: removes control characters, and replaces white space by spaces.
    CleanText,
    /// BERT: puts spaces around Chinese characters.
    SpaceChinese,
    Nmt,
    /// Replaces characters by a map of sentencepiece.
    Map,
    Bytes,
  };
  Kind kind;
  std::string from = {}, to = {};
  std::optional<Regex> pattern = {};
  std::optional<CharMap> map = {};
};

/// A step that divides text into words.
struct PreTokenizer {
  enum class Kind : uint8_t { Split, Bytes, Metaspace };
  /// Matches are words of their own, are removed, or belong to the word before or after them.
  enum class Behavior : uint8_t {
    Isolated,
    Removed,
    MergedWithPrevious,
    MergedWithNext,
    /// Like Isolated, but adjacent matches form one word.
    Contiguous
  };
  Kind kind = Kind::Split;
  std::optional<Regex> pattern;
  Behavior behavior = Behavior::Isolated;
  /// The matches are the words, and the text between them separates words.
  bool invert = false;
  /// Bytes: add a space in front of text that begins without one.
  bool add_prefix_space = false;
  /// Metaspace: `replacement` stands for a space, `prepend` says which texts get one in front.
  enum class Prepend : uint8_t { Never, First, Always };
  std::string replacement = {};
  Prepend prepend = Prepend::Never;
  bool splits = true;
};

struct Word {
  std::string text;
  /// The input begins with it.
  bool is_first;
};

struct Decoder {
  enum class Kind : uint8_t {
    Bytes,
    Replace,
    ByteFallback,
    Fuse,
    Strip,
    WordPiece,
    Metaspace,
    /// Removes the suffix `from` of words; a space separates a word from the one before.
    BytePairs,
    /// Removes repeated tokens and `from`, CTC's blank token; `to` becomes a space.
    Ctc
  };
  Kind kind;
  std::string from = {}, to = {};
  /// Strip: characters to remove at the start and the end; Metaspace: 1 to remove a space.
  size_t start = 0, stop = 0;
  /// Strip: the step has the whole text, because Fuse precedes it, and not each piece.
  bool has_whole_text = false;
  /// WordPiece, Ctc: remove spaces in front of punctuation and English contractions.
  bool cleanup = false;
};

struct AddedToken {
  uint64_t id;
  std::string content;
  bool special;
  /// Found in normalized text only.
  bool normalized;
  /// Not found inside of words.
  bool single_word;
  /// White space on a side belongs to the token.
  bool lstrip, rstrip;
};

struct HfModel {
  enum class Algorithm : uint8_t { BytePairs, WordPiece, Unigram, WordLevel };
  Algorithm algorithm = Algorithm::BytePairs;
  /// Pieces of the vocabulary, the only ones that words are encoded with.
  KeyedMap<std::string, uint64_t> ids;
  /// Added tokens by content; they precede the vocabulary wherever a text names a token.
  KeyedMap<std::string, uint64_t> added_ids;
  /// Pieces of the vocabulary and added tokens.
  KeyedMap<uint64_t, std::string> pieces;
  KeyedMap<std::pair<uint64_t, uint64_t>, Merge> merges;
  std::optional<uint64_t> unknown;
  bool byte_fallback = false, fuse_unknown = false, ignore_merges = false;
  /// BytePairs: the probability that a merge is skipped.
  double dropout = 0;
  /// WordPiece: longer words are unknown.
  size_t max_word_characters = 100;
  /// WordPiece, BytePairs: pieces inside of words begin with it.
  std::string continuing_prefix;
  /// BytePairs: pieces at the end of words end with it.
  std::string word_suffix;
  /// Unigram: the logarithm of each piece's probability, and the pieces.
  std::vector<double> scores;
  double min_score = 0;
  /// Used by Unigram and WordPiece; `continuing_index` has what follows the prefix.
  PieceIndex index, continuing_index;

  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  std::vector<Decoder> decoders;
  std::vector<AddedToken> added;
  /// Positions in `added`, for tokens searched for in raw and in normalized text.
  PieceIndex added_raw, added_normalized;
  KeyedSet<uint64_t> special;
  /// Tokens that the post-processor puts around texts.
  std::vector<uint64_t> prefix, suffix;
  std::optional<uint64_t> bos, eos;
  uint64_t highest = 0;

  /// The token that a text names: an added token, else a piece of the vocabulary.
  std::optional<uint64_t> token_named(const std::string& text) const {
    if (const auto added = added_ids.find(text); added != added_ids.end()) return added->second;
    const auto piece = ids.find(text);
    return piece == ids.end() ? std::nullopt : std::optional<uint64_t>(piece->second);
  }
};

/// Reads a tokenizer.json and the files beside it. Errors after a log message.
Result<HfModel> read_hf_model(const std::string& path);

/// The character that stands for a byte in byte-level vocabularies, as UTF-8.
const std::string& character_of_byte(uint8_t byte);
/// The reverse, of a code point; -1 if it stands for none.
int byte_of_character(uint32_t point);

/// Applies the normalizer's steps; each spends the bytes that it produces.
Result<std::string> normalize(const HfModel& model, std::string text, TextBudget& budget);
/// Divides normalized text into words. `is_first`: the input begins with it.
Result<std::vector<Word>> divide(const HfModel& model, const std::string& text, bool is_first,
                                 TextBudget& budget);
/// Appends the tokens of a word.
Error encode_word(const HfModel& model, const std::string& word, std::vector<uint64_t>& tokens);
/// The context of a token that decode_piece() decodes.
struct PieceInText {
  std::string piece;
  /// The piece of the token before; null if it is unknown.
  const std::string* previous;
  /// The text begins with the piece.
  bool at_start;
};
Result<std::string> decode_piece(const HfModel& model, PieceInText decoded);
/// The decoder makes a single byte of a token's piece, such as <0x0A>.
bool is_byte(const HfModel& model, uint64_t token);

/// White space as Unicode defines it.
inline bool is_white_space(uint32_t point) {
  return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
         point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

}  // namespace tokenizers::internal
