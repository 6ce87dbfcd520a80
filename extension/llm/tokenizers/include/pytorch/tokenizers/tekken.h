// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Mistral's tekken.json. The build needs PCRE2 and nlohmann-json.
#pragma once

#include <string>

#include <pytorch/tokenizers/byte_pair_tokenizer.h>

namespace tokenizers {

class Tekken final : public BytePairTokenizer {
 public:
  /// `path`: a tekken.json, or the folder of one. Special tokens come first: their number is added
  /// to the ranks of the others. <s> and </s> begin and end texts.
  Error load(const std::string& path) override;
};

}  // namespace tokenizers
