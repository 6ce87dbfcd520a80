// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Hugging Face's tokenizer.json with a BPE, WordPiece or Unigram model. The build needs PCRE2 and
// nlohmann-json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

namespace internal {
struct HfModel;
}

class HFTokenizer final : public Tokenizer {
 public:
  HFTokenizer();
  ~HFTokenizer() override;

  /// `path` is a tokenizer.json, or the folder of one. tokenizer_config.json and
  /// special_tokens_map.json beside it say which tokens begin and end texts. ParseFailure, after a
  /// log message that names it, for a part that is not supported.
  Error load(const std::string& path) override;
  /// If the file has a post-processor that puts tokens around texts, prepends its first tokens
  /// `bos` times and appends its last tokens `eos` times.
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0,
                                       int8_t eos = 0) const override;
  Result<std::string> decode(uint64_t previous, uint64_t token,
                             bool skip_special_tokens = false) const override;
  /// Unlike decode(), keeps the space after a BOS token that is not skipped, as the package
  /// `tokenizers` does.
  Result<std::string> decode_text(const std::vector<uint64_t>& tokens,
                                  bool skip_special_tokens = false) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;

 private:
  Result<std::string> decode_behind(uint64_t previous, uint64_t token, bool at_start) const;

  std::unique_ptr<internal::HfModel> model_;
};

}  // namespace tokenizers
