// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads the steps of a tokenizer.json. An unexpected type is a ParseFailure.
#include <algorithm>
#include <cctype>
#include <utility>

#include <executorch/extension/llm/tokenizers/hf/read.h>
#include <executorch/extension/llm/tokenizers/read/base64.h>
#include <executorch/extension/llm/tokenizers/utf8.h>

namespace tokenizers::internal {
namespace {

/// GPT-2's pattern of words, which ByteLevel uses.
constexpr const char* kBytePattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kPunctuation = R"([\p{P}!-/:-@\[-`{-~])";
/// \w+|[^\w\s]+ with Unicode's \w, which differs from PCRE2's.
constexpr const char* kWords = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|)"
                               R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";
constexpr int kMaxDepth = 8;
/// Published files have up to 10 steps of a kind. Compiling the pattern of a step such as
/// Whitespace, 22 bytes of a file, takes 5 KB and 0.4 ms (PCRE2 10.42, 2,000 of them).
constexpr size_t kMaxSteps = 256;
/// Published files put up to 3 tokens around a text. Each part of a template repeats a list.
constexpr size_t kMaxTokensAround = 256;

Error read_pattern(const Json& object, std::optional<Regex>& pattern, std::string& text) {
  const Json& given = member(object, "pattern");
  const Json& regex = member(given, "Regex");
  if (!regex.is_string()) {
    if (!member(given, "String").is_string()) return refuse_json("expected a pattern");
    text = member(given, "String").get<std::string>();
    return text.empty() ? refuse_json("expected a pattern, found an empty one") : Error::Ok;
  }
  auto compiled = Regex::compile(regex.get<std::string>());
  if (!compiled.ok()) return compiled.error();
  pattern = std::move(*compiled);
  return Error::Ok;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char byte : text) {
    if (uint8_t(byte) < 0x80 && !std::isalnum(uint8_t(byte))) result += '\\';
    result += byte;
  }
  return result;
}

/// Calls read(step) for a step, or for each of a Sequence.
template <typename Read>
Error each_step(const Json& step, const char* list, Read&& read, int depth = 0) {
  if (step.is_null()) return Error::Ok;
  if (text_of(step, "type") != "Sequence") return read(step);
  const Json& steps = member(step, list);
  if (!steps.is_array() || depth > kMaxDepth) return refuse_json(std::string("expected ") + list);
  for (const Json& part : steps) {
    const Error error = each_step(part, list, read, depth + 1);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error read_normalizer(const Json& step, HfModel& model) {
  using Kind = Normalizer::Kind;
  static const std::pair<const char*, Kind> kPlain[] = {{"NFC", Kind::Nfc},
                                                        {"NFD", Kind::Nfd},
                                                        {"NFKC", Kind::Nfkc},
                                                        {"NFKD", Kind::Nfkd},
                                                        {"Nmt", Kind::Nmt},
                                                        {"StripAccents", Kind::DropMarks},
                                                        {"Lowercase", Kind::Lowercase},
                                                        {"ByteLevel", Kind::Bytes}};
  const std::string type = text_of(step, "type");
  for (const auto& [name, kind] : kPlain) {
    if (type == name) {
      model.normalizers.push_back({kind});
      return Error::Ok;
    }
  }
  if (type == "Prepend") {
    model.normalizers.push_back({Kind::Prepend, {}, text_of(step, "prepend")});
  } else if (type == "Strip") {
    if (flag_of(step, "strip_left", true)) model.normalizers.push_back({Kind::StripLeft});
    if (flag_of(step, "strip_right", true)) model.normalizers.push_back({Kind::StripRight});
  } else if (type == "BertNormalizer") {
    const bool lowercase = flag_of(step, "lowercase", true);
    if (flag_of(step, "clean_text", true)) model.normalizers.push_back({Kind::CleanText});
    if (flag_of(step, "handle_chinese_chars", true)) {
      model.normalizers.push_back({Kind::SpaceChinese});
    }
    if (flag_of(step, "strip_accents", lowercase)) {
      model.normalizers.push_back({Kind::Nfd});
      model.normalizers.push_back({Kind::DropNonspacing});
    }
    if (lowercase) model.normalizers.push_back({Kind::Lowercase});
  } else if (type == "Precompiled") {
    const auto bytes = decode_base64(text_of(step, "precompiled_charsmap"));
    Normalizer result{Kind::Map};
    if (bytes.has_value()) result.map = CharMap::read(*bytes);
    if (!result.map.has_value()) {
      return refuse_json("precompiled_charsmap: expected a map in base64");
    }
    model.normalizers.push_back(std::move(result));
  } else if (type == "Replace") {
    Normalizer result{Kind::Replace, {}, text_of(step, "content")};
    const Error error = read_pattern(step, result.pattern, result.from);
    if (error != Error::Ok) return error;
    if (result.pattern.has_value()) result.kind = Kind::ReplacePattern;
    model.normalizers.push_back(std::move(result));
  } else {
    return refuse_json("normalizer '" + type + "' is not supported");
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

/// Reads the behavior of an option; false for another text.
bool get_behavior(const Json& step, PreTokenizer::Behavior& behavior) {
  using Behavior = PreTokenizer::Behavior;
  static const std::pair<const char*, Behavior> kBehaviors[] = {
      {"Isolated", Behavior::Isolated},
      {"Removed", Behavior::Removed},
      {"MergedWithPrevious", Behavior::MergedWithPrevious},
      {"MergedWithNext", Behavior::MergedWithNext},
      {"Contiguous", Behavior::Contiguous}};
  const std::string text = text_of(step, "behavior", "Isolated");
  for (const auto& [name, value] : kBehaviors) {
    if (text != name) continue;
    behavior = value;
    return true;
  }
  return false;
}

Error read_split(const Json& step, HfModel& model) {
  PreTokenizer result;
  if (!get_behavior(step, result.behavior)) {
    return refuse_json("behavior '" + text_of(step, "behavior") + "' is not supported");
  }
  if (text_of(step, "type") == "Punctuation")
    return add_split(model, std::move(result), kPunctuation);
  result.invert = flag_of(step, "invert");
  std::string text;
  const Error error = read_pattern(step, result.pattern, text);
  if (error != Error::Ok) return error;
  if (!result.pattern.has_value()) return add_split(model, std::move(result), escaped(text));
  model.pre_tokenizers.push_back(std::move(result));
  return Error::Ok;
}

Error read_bytes(const Json& step, HfModel& model) {
  PreTokenizer result;
  result.kind = PreTokenizer::Kind::Bytes;
  result.add_prefix_space = flag_of(step, "add_prefix_space", true);
  if (flag_of(step, "use_regex", true)) return add_split(model, std::move(result), kBytePattern);
  model.pre_tokenizers.push_back(std::move(result));
  return Error::Ok;
}

/// Reads `prepend_scheme`, or the flag that older files have.
bool get_prepend(const Json& step, PreTokenizer::Prepend& prepend) {
  using Prepend = PreTokenizer::Prepend;
  const std::string scheme =
      text_of(step, "prepend_scheme", flag_of(step, "add_prefix_space", true) ? "always" : "never");
  prepend = scheme == "always"  ? Prepend::Always
            : scheme == "first" ? Prepend::First
                                : Prepend::Never;
  return scheme == "always" || scheme == "first" || scheme == "never";
}

/// The character and the rule that Metaspace has for texts (pre-tokenizer) and tokens (decoder).
Error get_metaspace(const Json& step, std::string& replacement, PreTokenizer::Prepend& prepend) {
  replacement = text_of(step, "replacement", "\xE2\x96\x81");
  const bool is_character =
      !replacement.empty() && character_length(replacement) == replacement.size();
  if (is_character && get_prepend(step, prepend)) return Error::Ok;
  return refuse_json("Metaspace: expected one character as replacement and a known prepend_scheme");
}

Error read_metaspace(const Json& step, HfModel& model) {
  PreTokenizer result;
  result.kind = PreTokenizer::Kind::Metaspace;
  result.splits = flag_of(step, "split", true);
  const Error error = get_metaspace(step, result.replacement, result.prepend);
  if (error != Error::Ok) return error;
  model.pre_tokenizers.push_back(std::move(result));
  return Error::Ok;
}

/// Divides text after every `length` characters.
Error read_fixed_length(const Json& step, HfModel& model) {
  constexpr uint64_t kMaxRepetitions = 65535;  // of PCRE2
  const Json& length = member(step, "length");
  if (!length.is_number_unsigned() || length.get<uint64_t>() == 0 ||
      length.get<uint64_t>() > kMaxRepetitions) {
    return refuse_json("FixedLength: expected a length of 1 to " + std::to_string(kMaxRepetitions));
  }
  return add_split(model, {}, "[\\s\\S]{1," + std::to_string(length.get<uint64_t>()) + "}");
}

Error read_pre_tokenizer(const Json& step, HfModel& model) {
  using Behavior = PreTokenizer::Behavior;
  const std::string type = text_of(step, "type");
  PreTokenizer removed;
  removed.behavior = Behavior::Removed;
  if (type == "ByteLevel") return read_bytes(step, model);
  if (type == "Metaspace") return read_metaspace(step, model);
  if (type == "Split" || type == "Punctuation") return read_split(step, model);
  if (type == "Digits") {
    return add_split(model, {}, flag_of(step, "individual_digits") ? "\\p{N}" : "\\p{N}+");
  }
  if (type == "Whitespace") {
    removed.invert = true;
    return add_split(model, std::move(removed), kWords);
  }
  if (type == "FixedLength") return read_fixed_length(step, model);
  if (type == "WhitespaceSplit") return add_split(model, std::move(removed), "\\s");
  if (type == "CharDelimiterSplit") {
    return add_split(model, std::move(removed), escaped(text_of(step, "delimiter", " ")));
  }
  if (type == "BertPreTokenizer") {
    const Error error = add_split(model, std::move(removed), "\\s");
    return error == Error::Ok ? add_split(model, {}, kPunctuation) : error;
  }
  return refuse_json("pre-tokenizer '" + type + "' is not supported");
}

Error read_decoder(const Json& step, HfModel& model) {
  using Kind = Decoder::Kind;
  const std::string type = text_of(step, "type");
  if (type == "ByteLevel") {
    model.decoders.push_back({Kind::Bytes});
  } else if (type == "ByteFallback") {
    model.decoders.push_back({Kind::ByteFallback});
  } else if (type == "Fuse") {
    model.decoders.push_back({Kind::Fuse});
  } else if (type == "Replace") {
    Decoder result{Kind::Replace, {}, text_of(step, "content")};
    std::optional<Regex> pattern;
    const Error error = read_pattern(step, pattern, result.from);
    if (error != Error::Ok) return error;
    if (pattern.has_value()) return refuse_json("a decoder that replaces a Regex is not supported");
    model.decoders.push_back(std::move(result));
  } else if (type == "Strip") {
    const Json& start = member(step, "start");
    const Json& stop = member(step, "stop");
    if (!start.is_number_unsigned() || !stop.is_number_unsigned()) {
      return refuse_json("Strip: expected numbers start and stop");
    }
    Decoder result{
        Kind::Strip, text_of(step, "content"), {}, start.get<size_t>(), stop.get<size_t>()};
    result.has_whole_text =
        std::any_of(model.decoders.begin(), model.decoders.end(),
                    [](const Decoder& before) { return before.kind == Kind::Fuse; });
    // Texts are decoded piece by piece: their end is unknown, and the first piece may have fewer
    // characters to strip.
    if (result.has_whole_text && (result.start > 1 || result.stop != 0)) {
      return refuse_json("Strip after Fuse: expected start 0 or 1 and stop 0, found start " +
                         std::to_string(result.start) + " and stop " + std::to_string(result.stop));
    }
    model.decoders.push_back(std::move(result));
  } else if (type == "WordPiece") {
    Decoder result{Kind::WordPiece, text_of(step, "prefix", "##")};
    result.cleanup = flag_of(step, "cleanup", true);
    model.decoders.push_back(std::move(result));
  } else if (type == "BPEDecoder") {
    Decoder result{Kind::BytePairs, text_of(step, "suffix", "</w>")};
    if (result.from.empty()) return refuse_json("BPEDecoder: expected a suffix");
    model.decoders.push_back(std::move(result));
  } else if (type == "CTC") {
    Decoder result{Kind::Ctc, text_of(step, "pad_token", "<pad>"),
                   text_of(step, "word_delimiter_token", "|")};
    result.cleanup = flag_of(step, "cleanup", true);
    model.decoders.push_back(std::move(result));
  } else if (type == "Metaspace") {
    PreTokenizer::Prepend prepend{};
    Decoder result{Kind::Metaspace};
    const Error error = get_metaspace(step, result.from, prepend);
    if (error != Error::Ok) return error;
    result.start = prepend == PreTokenizer::Prepend::Never ? 0 : 1;
    model.decoders.push_back(std::move(result));
  } else {
    return refuse_json("decoder '" + type + "' is not supported");
  }
  return Error::Ok;
}

bool get_id(const Json& id, uint64_t& value) {
  if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId) return false;
  value = id.get<uint64_t>();
  return true;
}

/// Reads the tokens that TemplateProcessing puts before and after one text.
Error read_template(const Json& step, std::vector<uint64_t>& prefix,
                    std::vector<uint64_t>& suffix) {
  const Json& single = member(step, "single");
  const Json& tokens = member(step, "special_tokens");
  if (!single.is_array()) return refuse_json("TemplateProcessing: expected a template");
  bool is_behind = false;
  for (const Json& part : single) {
    if (!member(part, "Sequence").is_null()) {
      if (is_behind) return refuse_json("TemplateProcessing: expected one text");
      is_behind = true;
      continue;
    }
    const std::string name = text_of(member(part, "SpecialToken"), "id");
    const Json& ids = member(member(tokens, name.c_str()), "ids");
    if (!ids.is_array()) return refuse_json("TemplateProcessing: no ids of '" + name + "'");
    for (const Json& json_id : ids) {
      uint64_t id = 0;
      if (!get_id(json_id, id)) return refuse_json("TemplateProcessing: expected ids");
      std::vector<uint64_t>& around = is_behind ? suffix : prefix;
      if (around.size() == kMaxTokensAround) {
        return refuse_json("TemplateProcessing: expected at most " +
                           std::to_string(kMaxTokensAround) + " tokens before and after a text");
      }
      around.push_back(id);
    }
  }
  return is_behind ? Error::Ok : refuse_json("TemplateProcessing: expected a text");
}

Error read_post_processor(const Json& step, HfModel& model) {
  const std::string type = text_of(step, "type");
  std::vector<uint64_t> prefix, suffix;
  if (type == "TemplateProcessing") {
    const Error error = read_template(step, prefix, suffix);
    if (error != Error::Ok) return error;
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    prefix.resize(1);
    suffix.resize(1);
    const Json &first = member(step, "cls"), &last = member(step, "sep");
    if (!first.is_array() || first.size() != 2 || !get_id(first[1], prefix[0]) ||
        !last.is_array() || last.size() != 2 || !get_id(last[1], suffix[0])) {
      return refuse_json(type + ": expected cls and sep");
    }
  } else if (type != "ByteLevel") {  // ByteLevel changes offsets only
    return refuse_json("post-processor '" + type + "' is not supported");
  }
  model.prefix.insert(model.prefix.begin(), prefix.begin(), prefix.end());
  model.suffix.insert(model.suffix.end(), suffix.begin(), suffix.end());
  return Error::Ok;
}

}  // namespace

Error read_steps(const Json& root, HfModel& model) {
  using Read = Error (*)(const Json&, HfModel&);
  static const struct {
    const char *name, *list;
    Read read;
  } kParts[] = {{"normalizer", "normalizers", read_normalizer},
                {"pre_tokenizer", "pretokenizers", read_pre_tokenizer},
                {"post_processor", "processors", read_post_processor},
                {"decoder", "decoders", read_decoder}};
  for (const auto& part : kParts) {
    size_t steps = 0;
    const Error error = each_step(member(root, part.name), part.list, [&](const Json& step) {
      if (++steps > kMaxSteps) {
        return refuse_json(std::string(part.name) + ": expected at most " +
                           std::to_string(kMaxSteps) + " steps");
      }
      return part.read(step, model);
    });
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

}  // namespace tokenizers::internal
