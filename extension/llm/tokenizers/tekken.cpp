// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/tekken.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <executorch/extension/llm/tokenizers/open_tokenizer.h>
#include <executorch/extension/llm/tokenizers/pieces/byte_pairs.h>
#include <executorch/extension/llm/tokenizers/read/base64.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/read/json.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {
namespace {

using internal::Json;
using internal::member;
using internal::text_of;

/// The special tokens of files that do not list them.
constexpr const char* kSpecialTokens[] = {"<unk>",
                                          "<s>",
                                          "</s>",
                                          "[INST]",
                                          "[/INST]",
                                          "[AVAILABLE_TOOLS]",
                                          "[/AVAILABLE_TOOLS]",
                                          "[TOOL_RESULTS]",
                                          "[/TOOL_RESULTS]",
                                          "[TOOL_CALLS]",
                                          "<pad>",
                                          "[PREFIX]",
                                          "[MIDDLE]",
                                          "[SUFFIX]"};
/// Unused numbers below this are filled with special tokens; published files have 1,000.
constexpr uint64_t kMaxSpecialTokens = 1 << 16;

Error refuse(const char* what) {
  ET_LOG(Error, "tekken.json: %s", what);
  return Error::ParseFailure;
}

bool get_number(const Json& object, const char* name, uint64_t& value) {
  const Json& field = member(object, name);
  if (!field.is_number_unsigned() || field.get<uint64_t>() > internal::kMaxId) return false;
  value = field.get<uint64_t>();
  return true;
}

Error read_special(const Json& root, uint64_t count, internal::BytePairs& model) {
  std::vector<std::string> names(count);
  const Json& listed = member(root, "special_tokens");
  if (listed.is_null()) {
    for (size_t i = 0; i < std::size(kSpecialTokens) && i < count; ++i)
      names[i] = kSpecialTokens[i];
  } else if (!listed.is_array()) {
    return refuse("special_tokens: expected a list");
  } else {
    for (const Json& token : listed) {
      uint64_t rank = 0;
      const std::string name = text_of(token, "token_str");
      if (!get_number(token, "rank", rank) || rank >= count || name.empty() ||
          !names[rank].empty()) {
        return refuse("special_tokens: expected each rank below default_num_special_tokens once");
      }
      names[rank] = name;
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    const std::string filler = "<SPECIAL_" + std::to_string(i) + ">";
    const Error error = model.add_special(names[i].empty() ? filler : names[i], i);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

/// Adds the first `count` tokens of the file, ordered by rank.
Error read_vocabulary(const Json& root, uint64_t num_special, uint64_t count,
                      internal::BytePairs& model) {
  const Json& vocabulary = member(root, "vocab");
  if (!vocabulary.is_array() || vocabulary.size() < count) {
    return refuse("vocab: expected a list of default_vocab_size tokens");
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rank = 0;
    const Json& token = vocabulary[i];
    const auto bytes = internal::decode_base64(text_of(token, "token_bytes"));
    if (!get_number(token, "rank", rank) || rank != i || !bytes.has_value()) {
      return refuse("vocab: expected tokens ordered by rank, with bytes in base64");
    }
    const Error error = model.add(*bytes, num_special + rank);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

}  // namespace

bool internal::is_tekken(std::string_view head) {
  bool is_tekken = false;
  // Parsing `head` ends with an error where it is cut, after the members that are needed.
  const Json ignored = Json::parse(
      head,
      [&](int depth, Json::parse_event_t event, Json& key) {
        if (depth == 1 && event == Json::parse_event_t::key) {
          is_tekken = is_tekken || key == "config" || key == "vocab" || key == "special_tokens";
        }
        return true;
      },
      false);
  return is_tekken;
}

Error Tekken::load(const std::string& path) {
  initialized_ = false;
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) file /= "tekken.json";
  const auto root = internal::parse_json(file);
  if (!root.ok()) return root.error();
  const Json& config = member(*root, "config");
  uint64_t size = 0, num_special = 0;
  const std::string pattern = text_of(config, "pattern");
  if (!get_number(config, "default_vocab_size", size) ||
      !get_number(config, "default_num_special_tokens", num_special) ||
      num_special > kMaxSpecialTokens || num_special > size || pattern.empty()) {
    return refuse("config: expected pattern, default_vocab_size and default_num_special_tokens");
  }
  auto model = std::make_unique<internal::BytePairs>();
  for (const Error error :
       {read_special(*root, num_special, *model),
        read_vocabulary(*root, num_special, size - num_special, *model), model->finish(pattern)}) {
    if (error != Error::Ok) return error;
  }
  const auto bos = model->id_of("<s>"), eos = model->id_of("</s>");
  if (!bos.has_value() || !eos.has_value()) return refuse("expected special tokens <s> and </s>");
  use(std::move(model), *bos, *eos);
  return Error::Ok;
}

}  // namespace tokenizers
