// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Vocabularies of tiktoken: lines of base64 and rank. The build needs PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <pytorch/tokenizers/byte_pair_tokenizer.h>

namespace tokenizers {

class Tiktoken final : public BytePairTokenizer {
 public:
  /// Files contain neither special tokens nor the pattern that divides text into words; those of
  /// Llama 3 are the default. Special tokens are numbered after the others; the indices of those
  /// that begin and end texts count special tokens only.
  explicit Tiktoken(size_t bos_token_index = 0, size_t eos_token_index = 1);
  explicit Tiktoken(std::unique_ptr<std::vector<std::string>> special_tokens,
                    size_t bos_token_index = 0, size_t eos_token_index = 1);
  explicit Tiktoken(std::string pattern, size_t bos_token_index = 0, size_t eos_token_index = 1);
  Tiktoken(std::string pattern, std::unique_ptr<std::vector<std::string>> special_tokens,
           size_t bos_token_index = 0, size_t eos_token_index = 1);

  Error load(const std::string& path) override;

 private:
  std::string pattern_;
  std::vector<std::string> special_tokens_;
  size_t bos_index_, eos_index_;
};

}  // namespace tokenizers
