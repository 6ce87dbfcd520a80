// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads tokenizer.json. Nothing here throws: what has another type than expected is ParseFailure.
#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <executorch/extension/llm/tokenizers/file.h>
#include <executorch/extension/llm/tokenizers/hf_model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

using Json = nlohmann::json;

namespace {

/// GPT-2's division into words, which ByteLevel makes.
constexpr const char* kBytePattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr int kMaxDepth = 8;

Error refuse(const std::string& what) {
  ET_LOG(Error, "tokenizer.json: %s", what.c_str());
  return Error::ParseFailure;
}

/// A member of an object; null if there is none.
const Json& member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}
std::string text_of(const Json& object, const char* name, const std::string& otherwise = {}) {
  const Json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : otherwise;
}
bool flag_of(const Json& object, const char* name, bool otherwise = false) {
  const Json& found = member(object, name);
  return found.is_boolean() ? found.get<bool>() : otherwise;
}

Error read_pattern(const Json& object, std::optional<Regex>& pattern, std::string& text) {
  const Json& given = member(object, "pattern");
  const Json& regex = member(given, "Regex");
  if (!regex.is_string()) {
    if (!member(given, "String").is_string()) return refuse("expected a pattern");
    text = member(given, "String").get<std::string>();
    return text.empty() ? refuse("expected a pattern, found an empty one") : Error::Ok;
  }
  auto compiled = Regex::compile(regex.get<std::string>());
  if (!compiled.ok()) return compiled.error();
  pattern = std::move(*compiled);
  return Error::Ok;
}

std::string escaped(const std::string& text) {
  std::string made;
  for (const char byte : text) {
    if (uint8_t(byte) < 0x80 && !std::isalnum(uint8_t(byte))) made += '\\';
    made += byte;
  }
  return made;
}

/// Calls read(step) for a step, or for each of a Sequence.
template <typename Read>
Error each_step(const Json& step, const char* list, Read&& read, int depth = 0) {
  if (step.is_null()) return Error::Ok;
  if (text_of(step, "type") != "Sequence") return read(step);
  const Json& steps = member(step, list);
  if (!steps.is_array() || depth > kMaxDepth) return refuse(std::string("expected ") + list);
  for (const Json& each : steps) {
    const Error error = each_step(each, list, read, depth + 1);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error read_normalizer(const Json& step, HfModel& model) {
  using Kind = Normalizer::Kind;
  static const std::pair<const char*, Kind> kForms[] = {
      {"NFC", Kind::Nfc}, {"NFD", Kind::Nfd}, {"NFKC", Kind::Nfkc}, {"NFKD", Kind::Nfkd}};
  const std::string type = text_of(step, "type");
  for (const auto& [name, kind] : kForms) {
    if (type == name) {
      model.normalizers.push_back({kind, {}, {}, {}});
      return Error::Ok;
    }
  }
  if (type == "Lowercase") {
    model.normalizers.push_back({Kind::Lowercase, {}, {}, {}});
  } else if (type == "Prepend") {
    model.normalizers.push_back({Kind::Prepend, {}, text_of(step, "prepend"), {}});
  } else if (type == "Replace") {
    Normalizer made{Kind::Replace, {}, text_of(step, "content"), {}};
    const Error error = read_pattern(step, made.pattern, made.from);
    if (error != Error::Ok) return error;
    if (made.pattern.has_value()) made.kind = Kind::ReplacePattern;
    model.normalizers.push_back(std::move(made));
  } else {
    return refuse("normalizer '" + type + "' is not supported");
  }
  return Error::Ok;
}

Error add_split(HfModel& model, PreTokenizer step, const std::string& pattern) {
  auto compiled = Regex::compile(pattern);
  if (!compiled.ok()) return compiled.error();
  step.pattern = std::move(*compiled);
  model.pre_tokenizers.push_back(std::move(step));
  return Error::Ok;
}

Error read_pre_tokenizer(const Json& step, HfModel& model) {
  using Behavior = PreTokenizer::Behavior;
  static const std::pair<const char*, Behavior> kBehaviors[] = {
      {"Isolated", Behavior::Isolated},
      {"Removed", Behavior::Removed},
      {"MergedWithPrevious", Behavior::MergedWithPrevious},
      {"MergedWithNext", Behavior::MergedWithNext}};
  const std::string type = text_of(step, "type");
  PreTokenizer made;
  if (type == "ByteLevel") {
    made.kind = PreTokenizer::Kind::Bytes;
    made.add_prefix_space = flag_of(step, "add_prefix_space", true);
    if (flag_of(step, "use_regex", true)) return add_split(model, std::move(made), kBytePattern);
    model.pre_tokenizers.push_back(std::move(made));
    return Error::Ok;
  }
  if (type == "Digits") {
    const bool single = flag_of(step, "individual_digits");
    return add_split(model, std::move(made), single ? "\\p{N}" : "\\p{N}+");
  }
  if (type != "Split") return refuse("pre-tokenizer '" + type + "' is not supported");
  const std::string behavior = text_of(step, "behavior");
  const auto* const found = std::find_if(std::begin(kBehaviors), std::end(kBehaviors),
                                         [&](const auto& each) { return behavior == each.first; });
  if (found == std::end(kBehaviors)) return refuse("behavior '" + behavior + "' is not supported");
  made.behavior = found->second;
  made.invert = flag_of(step, "invert");
  std::string text;
  const Error error = read_pattern(step, made.pattern, text);
  if (error != Error::Ok) return error;
  if (!made.pattern.has_value()) return add_split(model, std::move(made), escaped(text));
  model.pre_tokenizers.push_back(std::move(made));
  return Error::Ok;
}

Error read_decoder(const Json& step, HfModel& model) {
  using Kind = Decoder::Kind;
  const std::string type = text_of(step, "type");
  if (type == "ByteLevel") {
    model.decoders.push_back({Kind::Bytes, {}, {}});
  } else if (type == "ByteFallback") {
    model.decoders.push_back({Kind::ByteFallback, {}, {}});
  } else if (type == "Fuse") {
    model.decoders.push_back({Kind::Fuse, {}, {}});
  } else if (type == "Replace") {
    Decoder made{Kind::Replace, {}, text_of(step, "content")};
    std::optional<Regex> pattern;
    const Error error = read_pattern(step, pattern, made.from);
    if (error != Error::Ok) return error;
    if (pattern.has_value()) return refuse("a decoder that replaces a Regex is not supported");
    model.decoders.push_back(std::move(made));
  } else if (type == "Strip") {
    const Json& start = member(step, "start");
    const Json& stop = member(step, "stop");
    if (!start.is_number_unsigned() || (stop.is_number_unsigned() && stop.get<uint64_t>() != 0)) {
      return refuse("a decoder that strips anything but the start is not supported");
    }
    model.decoders.push_back({Kind::Strip, text_of(step, "content"), {}, start.get<size_t>()});
  } else {
    return refuse("decoder '" + type + "' is not supported");
  }
  return Error::Ok;
}

Error read_vocabulary(const Json& bpe, HfModel& model) {
  const Json& vocabulary = member(bpe, "vocab");
  if (!vocabulary.is_object()) return refuse("model.vocab: expected an object");
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId) {
      return refuse("model.vocab: expected the number of '" + piece + "'");
    }
    model.ids.emplace(piece, id.get<uint64_t>());
    model.pieces.emplace(id.get<uint64_t>(), piece);
    model.highest = std::max(model.highest, id.get<uint64_t>());
  }
  const std::string unknown = text_of(bpe, "unk_token");
  if (!unknown.empty()) {
    const auto found = model.ids.find(unknown);
    if (found == model.ids.end()) return refuse("model.unk_token: the vocabulary has none");
    model.unknown = found->second;
  }
  return Error::Ok;
}

Error read_merges(const Json& bpe, HfModel& model) {
  const Json& merges = member(bpe, "merges");
  if (!merges.is_array()) return refuse("model.merges: expected a list");
  double rank = 0;
  for (const Json& merge : merges) {
    std::string left, right;
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const size_t space = text.find(' ');
      if (space != std::string::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    const auto first = model.ids.find(left), second = model.ids.find(right);
    const auto whole = model.ids.find(left + right);
    if (first == model.ids.end() || second == model.ids.end() || whole == model.ids.end()) {
      return refuse("model.merges: the vocabulary lacks a part of merge " +
                    std::to_string(int64_t(rank)));
    }
    model.merges[{first->second, second->second}] = {rank++, whole->second};
  }
  return Error::Ok;
}

Error read_model(const Json& root, HfModel& model) {
  const Json& bpe = member(root, "model");
  const std::string type = text_of(bpe, "type", "BPE");
  if (!bpe.is_object() || type != "BPE") return refuse("model '" + type + "' is not supported");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_of(bpe, affix).empty())
      return refuse(std::string("model.") + affix + " is not supported");
  }
  const Json& dropout = member(bpe, "dropout");
  if (dropout.is_number() && dropout.get<double>() != 0) {
    return refuse("model.dropout is not supported");
  }
  model.byte_fallback = flag_of(bpe, "byte_fallback");
  model.fuse_unknown = flag_of(bpe, "fuse_unk");
  model.ignore_merges = flag_of(bpe, "ignore_merges");
  const Error error = read_vocabulary(bpe, model);
  return error == Error::Ok ? read_merges(bpe, model) : error;
}

Error read_added_tokens(const Json& root, HfModel& model) {
  const Json& tokens = member(root, "added_tokens");
  if (tokens.is_null()) return Error::Ok;
  if (!tokens.is_array()) return refuse("added_tokens: expected a list");
  for (const Json& token : tokens) {
    const Json& id = member(token, "id");
    const std::string content = text_of(token, "content");
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId || content.empty()) {
      return refuse("added_tokens: expected id and content");
    }
    for (const char* option : {"single_word", "lstrip", "rstrip"}) {
      if (flag_of(token, option)) {
        return refuse("added token '" + content + "': " + option + " is not supported");
      }
    }
    const bool special = flag_of(token, "special");
    model.added[content] = {id.get<uint64_t>(), content, special};
    model.ids[content] = id.get<uint64_t>();
    model.pieces[id.get<uint64_t>()] = content;
    model.highest = std::max(model.highest, id.get<uint64_t>());
    if (special) model.special.insert(id.get<uint64_t>());
    model.added_lengths.push_back(content.size());
  }
  auto& lengths = model.added_lengths;
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return Error::Ok;
}

Result<Json> parse(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text.ok()) return text.error();
  Json made = Json::parse(*text, nullptr, false);
  if (!made.is_object()) {
    ET_LOG(Error, "tokenizer: '%s' holds no JSON object", file.c_str());
    return Error::LoadFailure;
  }
  return made;
}

/// The tokens that begin and end texts, as files beside the tokenizer say.
void read_roles(const std::filesystem::path& folder, HfModel& model) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / name, ignored)) continue;
    const auto config = parse(folder / name);
    if (!config.ok()) continue;
    const auto find = [&](const char* role, std::optional<uint64_t>& token) {
      const Json& given = member(*config, role);
      const std::string text =
          given.is_string() ? given.get<std::string>() : text_of(given, "content");
      const auto found = model.ids.find(text);
      if (!token.has_value() && found != model.ids.end()) token = found->second;
    };
    find("bos_token", model.bos);
    find("eos_token", model.eos);
  }
}

/// The same by the names that tokenizers commonly give them, where no file says it.
void guess_roles(HfModel& model) {
  const auto find = [&](std::initializer_list<const char*> names, std::optional<uint64_t>& token) {
    for (const char* name : names) {
      const auto found = model.added.find(name);
      if (!token.has_value() && found != model.added.end()) token = found->second.id;
    }
  };
  find({"<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "<|im_start|>", "<|endoftext|>"},
       model.bos);
  find({"</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "<|endoftext|>"}, model.eos);
}

}  // namespace

Result<HfModel> read_hf_model(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) file /= "tokenizer.json";
  const auto root = parse(file);
  if (!root.ok()) return root.error();
  HfModel model;
  const Error errors[] = {
      read_model(*root, model), read_added_tokens(*root, model),
      each_step(member(*root, "normalizer"), "normalizers",
                [&](const Json& step) { return read_normalizer(step, model); }),
      each_step(member(*root, "pre_tokenizer"), "pretokenizers",
                [&](const Json& step) { return read_pre_tokenizer(step, model); }),
      each_step(member(*root, "decoder"), "decoders",
                [&](const Json& step) { return read_decoder(step, model); })};
  for (const Error error : errors) {
    if (error != Error::Ok) return error;
  }
  read_roles(file.parent_path(), model);
  guess_roles(model);
  return model;
}

}  // namespace tokenizers::internal
