// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The tokenizer.bin of llama2.c: pieces with scores, merged by the highest score.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

class Llama2cTokenizer final : public Tokenizer {
 public:
  Error load(const std::string& path) override;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0,
                                       int8_t eos = 0) const override;
  Result<std::string> decode(uint64_t previous, uint64_t token,
                             bool skip_special_tokens = false) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;

 private:
  std::vector<std::string> pieces_;
  std::vector<float> scores_;
  std::map<std::string, uint64_t> ids_;
};

}  // namespace tokenizers
