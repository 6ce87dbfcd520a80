// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Models of sentencepiece: unigram and BPE.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

namespace internal {
struct SentencePieceModel;
}

class SPTokenizer final : public Tokenizer {
 public:
  SPTokenizer();
  ~SPTokenizer() override;

  Error load(const std::string& path) override;
  /// Bytes that are not UTF-8 become U+FFFD. Control pieces written out in `input` are text.
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0,
                                       int8_t eos = 0) const override;
  /// Control pieces are empty. The space that a model puts in front of texts is omitted after the
  /// token that begins them.
  Result<std::string> decode(uint64_t previous, uint64_t token,
                             bool skip_special_tokens = false) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;

 private:
  std::unique_ptr<internal::SentencePieceModel> model_;
};

}  // namespace tokenizers
