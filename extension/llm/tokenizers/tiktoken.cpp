// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/tiktoken.h>

#include <charconv>
#include <string_view>
#include <utility>

#include <executorch/extension/llm/tokenizers/pieces/byte_pairs.h>
#include <executorch/extension/llm/tokenizers/read/base64.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {
namespace {

constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr size_t kLlama3SpecialTokens = 256;

std::vector<std::string> llama3_special_tokens() {
  std::vector<std::string> tokens = {"<|begin_of_text|>",
                                     "<|end_of_text|>",
                                     "<|reserved_special_token_0|>",
                                     "<|reserved_special_token_1|>",
                                     "<|finetune_right_pad_id|>",
                                     "<|step_id|>",
                                     "<|start_header_id|>",
                                     "<|end_header_id|>",
                                     "<|eom_id|>",
                                     "<|eot_id|>",
                                     "<|python_tag|>"};
  for (int reserved = 2; tokens.size() < kLlama3SpecialTokens; ++reserved) {
    tokens.push_back("<|reserved_special_token_" + std::to_string(reserved) + "|>");
  }
  return tokens;
}

/// Reads "base64 rank"; false for another line.
bool read_line(std::string_view line, std::string& bytes, uint64_t& rank) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  auto decoded = internal::decode_base64(line.substr(0, space));
  if (!decoded.has_value()) return false;
  bytes = std::move(*decoded);
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + space + 1, end, rank);
  return error == std::errc() && stop == end;
}

}  // namespace

Tiktoken::Tiktoken(std::string pattern, std::unique_ptr<std::vector<std::string>> special_tokens,
                   size_t bos_token_index, size_t eos_token_index)
    : pattern_(std::move(pattern)),
      special_tokens_(special_tokens == nullptr ? llama3_special_tokens()
                                                : std::move(*special_tokens)),
      bos_index_(bos_token_index),
      eos_index_(eos_token_index) {}
Tiktoken::Tiktoken(size_t bos_token_index, size_t eos_token_index)
    : Tiktoken(kLlama3Pattern, nullptr, bos_token_index, eos_token_index) {}
Tiktoken::Tiktoken(std::unique_ptr<std::vector<std::string>> special_tokens, size_t bos_token_index,
                   size_t eos_token_index)
    : Tiktoken(kLlama3Pattern, std::move(special_tokens), bos_token_index, eos_token_index) {}
Tiktoken::Tiktoken(std::string pattern, size_t bos_token_index, size_t eos_token_index)
    : Tiktoken(std::move(pattern), nullptr, bos_token_index, eos_token_index) {}

Error Tiktoken::load(const std::string& path) {
  initialized_ = false;
  if (bos_index_ >= special_tokens_.size() || eos_index_ >= special_tokens_.size()) {
    ET_LOG(Error, "tokenizer '%s': expected indices of special tokens below %zu, found %zu and %zu",
           path.c_str(), special_tokens_.size(), bos_index_, eos_index_);
    return Error::OutOfRange;
  }
  const auto file = internal::read_file(path);
  if (!file.ok()) return file.error();
  auto model = std::make_unique<internal::BytePairs>();
  std::string_view rest = *file;
  std::string bytes;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    uint64_t rank = 0;
    if (!read_line(line, bytes, rank)) {
      ET_LOG(Error, "tokenizer '%s': line %zu: expected base64 and a rank", path.c_str(), number);
      return Error::ParseFailure;
    }
    const Error error = model->add(bytes, rank);
    if (error != Error::Ok) return error;
  }
  const uint64_t first_special = model->highest() + 1;
  for (size_t i = 0; i < special_tokens_.size(); ++i) {
    const Error error = model->add_special(special_tokens_[i], first_special + i);
    if (error != Error::Ok) return error;
  }
  const Error error = model->finish(pattern_);
  if (error != Error::Ok) return error;
  use(std::move(model), first_special + bos_index_, first_special + eos_index_);
  return Error::Ok;
}

}  // namespace tokenizers
