// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Base class of tokenizers with a vocabulary of byte strings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

namespace internal {
class BytePairs;
}

class BytePairTokenizer : public Tokenizer {
 public:
  BytePairTokenizer();
  ~BytePairTokenizer() override;

  /// Special tokens written out in `input` become their ids.
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t bos = 0,
                                       int8_t eos = 0) const override;
  Result<std::string> decode(uint64_t previous, uint64_t token,
                             bool skip_special_tokens = false) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;

 protected:
  /// Takes ownership of a finished vocabulary.
  void use(std::unique_ptr<internal::BytePairs> model, uint64_t bos, uint64_t eos);

 private:
  std::unique_ptr<internal::BytePairs> model_;
};

}  // namespace tokenizers
