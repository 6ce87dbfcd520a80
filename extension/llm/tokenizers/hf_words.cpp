// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Normalizing text and dividing it into words.
#include <utf8proc.h>

#include <array>
#include <cstdlib>

#include <executorch/extension/llm/tokenizers/hf_model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {
namespace {

/// Printable bytes stand for themselves; the others follow from U+0100 on.
struct ByteAlphabet {
  std::array<std::string, 256> characters;
  std::array<int, 512> bytes;

  ByteAlphabet() {
    bytes.fill(-1);
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      const uint32_t point = is_printable ? byte : next++;
      append_code_point(characters[byte], point);
      bytes[point] = int(byte);
    }
  }
};

const ByteAlphabet& alphabet() {
  static const ByteAlphabet made;
  return made;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  std::string made;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    made.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return made.append(text, at);
}

Result<std::string> replaced_pattern(const std::string& text, const Regex& pattern,
                                     const std::string& to) {
  const auto matches = pattern.find_all(text);
  if (!matches.ok()) return matches.error();
  std::string made;
  size_t at = 0;
  for (const Range& match : *matches) {
    made.append(text, at, match.first - at).append(to);
    at = match.second;
  }
  return made.append(text, at);
}

Result<std::string> composed(const std::string& text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()), &made,
      utf8proc_option_t(options | UTF8PROC_STABLE));
  if (length < 0) {
    ET_LOG(Error, "tokenizer: text cannot be normalized: %s", utf8proc_errmsg(length));
    return Error::EncodeFailure;
  }
  std::string result(reinterpret_cast<const char*>(made), size_t(length));
  std::free(made);
  return result;
}

std::string lowercased(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const size_t length = character_length(text);
    const uint32_t point = code_point(text, length);
    if (point == 0x130) {
      made += "i\xCC\x87";  // the one character with two in lower case
    } else {
      append_code_point(made, uint32_t(utf8proc_tolower(utf8proc_int32_t(point))));
    }
    text.remove_prefix(length);
  }
  return made;
}

/// Cuts `text` at the matches, or at what is between them.
void cut(const PreTokenizer& step, const std::string& text, const std::vector<Range>& matches,
         std::vector<std::string>& words) {
  using Behavior = PreTokenizer::Behavior;
  std::vector<std::pair<Range, bool>> parts;  // and whether it is a place to divide at
  size_t at = 0;
  for (const Range& match : matches) {
    if (match.first > at) parts.push_back({{at, match.first}, step.invert});
    parts.push_back({match, !step.invert});
    at = match.second;
  }
  if (at < text.size()) parts.push_back({{at, text.size()}, step.invert});
  const auto add = [&](const Range& range) {
    words.push_back(text.substr(range.first, range.second - range.first));
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [range, divides] = parts[i];
    const bool before = i > 0 && parts[i - 1].second;
    const bool behind = i + 1 < parts.size() && parts[i + 1].second;
    if (step.behavior == Behavior::Isolated || (step.behavior == Behavior::Removed && !divides)) {
      add(range);
    } else if (step.behavior == Behavior::MergedWithPrevious) {
      if (!divides) {
        add({range.first, behind ? parts[i + 1].first.second : range.second});
      } else if (i == 0 || before) {
        add(range);
      }
    } else if (step.behavior == Behavior::MergedWithNext) {
      if (!divides) {
        add({before ? parts[i - 1].first.first : range.first, range.second});
      } else if (i + 1 == parts.size() || behind) {
        add(range);
      }
    }
  }
}

}  // namespace

const std::string& character_of_byte(uint8_t byte) { return alphabet().characters[byte]; }

int byte_of_character(uint32_t point) {
  return point < alphabet().bytes.size() ? alphabet().bytes[point] : -1;
}

Result<std::string> normalize(const HfModel& model, std::string text) {
  using Kind = Normalizer::Kind;
  for (const Normalizer& step : model.normalizers) {
    switch (step.kind) {
      case Kind::Replace:
        text = replaced(text, step.from, step.to);
        break;
      case Kind::Prepend:
        if (!text.empty()) text = step.to + text;
        break;
      case Kind::Lowercase:
        text = lowercased(text);
        break;
      default: {
        const int options = step.kind == Kind::Nfc    ? UTF8PROC_COMPOSE
                            : step.kind == Kind::Nfd  ? UTF8PROC_DECOMPOSE
                            : step.kind == Kind::Nfkc ? UTF8PROC_COMPOSE | UTF8PROC_COMPAT
                                                      : UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
        auto made = step.kind == Kind::ReplacePattern
                        ? replaced_pattern(text, *step.pattern, step.to)
                        : composed(text, options);
        if (!made.ok()) return made;
        text = std::move(*made);
      }
    }
  }
  return text;
}

Result<std::vector<std::string>> divide(const HfModel& model, const std::string& text) {
  std::vector<std::string> words;
  if (!text.empty()) words.push_back(text);
  for (const PreTokenizer& step : model.pre_tokenizers) {
    std::vector<std::string> made;
    for (std::string& word : words) {
      if (step.add_prefix_space && word[0] != ' ') word.insert(0, 1, ' ');
      if (step.pattern.has_value()) {
        const auto matches = step.pattern->find_all(word);
        if (!matches.ok()) return matches.error();
        cut(step, word, *matches, made);
      } else {
        made.push_back(word);
      }
    }
    if (step.kind == PreTokenizer::Kind::Bytes) {
      for (std::string& word : made) {
        std::string characters;
        for (const char byte : word) characters += character_of_byte(uint8_t(byte));
        word = std::move(characters);
      }
    }
    words = std::move(made);
  }
  return words;
}

}  // namespace tokenizers::internal
