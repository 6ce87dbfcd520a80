// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/open_tokenizer.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include <executorch/extension/llm/tokenizers/read/base64.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/read/protobuf.h>
#include <executorch/runtime/platform/log.h>
#ifdef EXECUTORCH_HAS_HF_TOKENIZER
#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/tekken.h>
#include <pytorch/tokenizers/tiktoken.h>
#endif
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>

namespace tokenizers::internal {
namespace {

/// Enough to recognize every format.
constexpr size_t kProbe = 4096;

/// A line of base64, a space and a digit.
bool is_tiktoken(std::string_view head) {
  const size_t space = head.find(' ');
  return space != std::string_view::npos && space != 0 && space + 1 < head.size() &&
         decode_base64(head.substr(0, space)).has_value() && head[space + 1] >= '0' &&
         head[space + 1] <= '9';
}

/// Piece 0 of a model: field 1 of a message, whose own field 1 is text.
bool is_sentencepiece(std::string_view head) {
  ProtobufReader model(head);
  std::string_view piece, text;
  if (!model.next() || model.field() != 1 || !model.get(piece)) return false;
  ProtobufReader first(piece);
  return first.next() && first.field() == 1 && first.get(text) && !text.empty();
}

std::string file_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path folder = path;
  for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model", "tokenizer.bin"}) {
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return path;
}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view head, TiktokenOptions options) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && head[first] == '{';
#ifdef EXECUTORCH_HAS_HF_TOKENIZER
  if (is_json) {
    if (is_tekken(head)) return std::make_unique<Tekken>();
    return std::make_unique<HFTokenizer>();
  }
  if (is_tiktoken(head)) {
    return options.pattern.has_value()
               ? std::make_unique<Tiktoken>(std::move(*options.pattern),
                                            std::move(options.special_tokens),
                                            options.bos_token_index, options.eos_token_index)
               : std::make_unique<Tiktoken>(std::move(options.special_tokens),
                                            options.bos_token_index, options.eos_token_index);
  }
#else
  (void)options;
  if (is_json || is_tiktoken(head)) {
    ET_LOG(Error,
           "tokenizer: this build reads neither tokenizer.json nor files of tiktoken: PCRE2, "
           "nlohmann-json or utf8proc was missing");
    return nullptr;
  }
#endif
  if (is_sentencepiece(head)) return std::make_unique<SPTokenizer>();
  return std::make_unique<Llama2cTokenizer>();
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path,
                                                  TiktokenOptions options) {
  const std::string file = file_of(path);
  const auto head = read_file(file, kProbe);
  if (!head.ok()) return head.error();
  auto tokenizer = make_tokenizer(*head, std::move(options));
  if (tokenizer == nullptr) return Error::LoadFailure;
  const Error error = tokenizer->load(file);
  if (error != Error::Ok) return error;
  return tokenizer;
}

}  // namespace tokenizers::internal
