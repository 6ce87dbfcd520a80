// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface of tokenizers. A loaded tokenizer is immutable: threads may share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <pytorch/tokenizers/error.h>
#include <pytorch/tokenizers/result.h>

namespace tokenizers {

class Tokenizer {
 public:
  /// The previous token of a text's first token.
  static constexpr uint64_t kTextStart = UINT64_MAX;

  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// Reads a file. After an error, the tokenizer is not loaded.
  virtual Error load(const std::string& path) = 0;

  /// The tokens of UTF-8 text, after `bos` copies of the token that begins texts and before `eos`
  /// copies of the token that ends them.
  virtual Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0,
                                               int8_t eos = 0) const = 0;
  /// The bytes that `token` adds after `previous`; a character may be divided among tokens. After
  /// kTextStart, or the token that begins texts, it loses the space that separates words.
  virtual Result<std::string> decode(uint64_t previous, uint64_t token,
                                     bool skip_special_tokens = false) const = 0;
  /// The bytes of a whole text. Skipped tokens do not separate words.
  virtual Result<std::string> decode_text(const std::vector<uint64_t>& tokens,
                                          bool skip_special_tokens = false) const {
    std::string text;
    uint64_t previous = kTextStart;
    for (const uint64_t token : tokens) {
      const auto piece = decode(previous, token, skip_special_tokens);
      if (!piece.ok()) return piece.error();
      text += *piece;
      previous = token;
    }
    return text;
  }

  /// The text of a token in the vocabulary, and the reverse.
  virtual Result<std::string> id_to_piece(uint64_t token) const = 0;
  virtual Result<uint64_t> piece_to_id(const std::string& text) const = 0;

  int32_t vocab_size() const { return vocab_size_; }
  uint64_t bos_tok() const { return bos_tok_; }
  uint64_t eos_tok() const { return eos_tok_; }
  virtual bool is_loaded() const { return initialized_; }

 protected:
  /// Appends `token` `times` times; nothing for a negative number.
  static void append(std::vector<uint64_t>& tokens, int8_t times, uint64_t token) {
    tokens.insert(tokens.end(), size_t(times < 0 ? 0 : times), token);
  }

  bool initialized_ = false;
  int32_t vocab_size_ = 0;
  uint64_t bos_tok_ = 0, eos_tok_ = 0, unk_tok_ = 0;
};

}  // namespace tokenizers
