// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/byte_pair_tokenizer.h>

#include <utility>

#include <executorch/extension/llm/tokenizers/pieces/byte_pairs.h>

namespace tokenizers {

BytePairTokenizer::BytePairTokenizer() = default;
BytePairTokenizer::~BytePairTokenizer() = default;

void BytePairTokenizer::use(std::unique_ptr<internal::BytePairs> model, uint64_t bos,
                            uint64_t eos) {
  model_ = std::move(model);
  vocab_size_ = int32_t(model_->highest() + 1);
  bos_tok_ = bos;
  eos_tok_ = eos;
  initialized_ = true;
}

Result<std::vector<uint64_t>> BytePairTokenizer::encode(const std::string& input, int8_t bos,
                                                        int8_t eos) const {
  if (!initialized_) return Error::Uninitialized;
  std::vector<uint64_t> tokens;
  append(tokens, bos, bos_tok_);
  const Error error = model_->encode(input, tokens);
  if (error != Error::Ok) return error;
  append(tokens, eos, eos_tok_);
  return tokens;
}

Result<std::string> BytePairTokenizer::decode(uint64_t, uint64_t token,
                                              bool skip_special_tokens) const {
  if (!initialized_) return Error::Uninitialized;
  const std::string* const bytes = model_->bytes_of(token);
  if (bytes == nullptr) return Error::OutOfRange;
  return skip_special_tokens && model_->is_special(token) ? std::string() : *bytes;
}

Result<std::string> BytePairTokenizer::id_to_piece(uint64_t token) const {
  if (!initialized_) return Error::Uninitialized;
  const std::string* const bytes = model_->bytes_of(token);
  if (bytes == nullptr) return Error::OutOfRange;
  return *bytes;
}

Result<uint64_t> BytePairTokenizer::piece_to_id(const std::string& text) const {
  if (!initialized_) return Error::Uninitialized;
  const auto id = model_->id_of(text);
  if (!id.has_value()) return Error::OutOfRange;
  return *id;
}

}  // namespace tokenizers
