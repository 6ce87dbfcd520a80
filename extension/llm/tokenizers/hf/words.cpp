// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Divides text into words.
#include <array>

#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {
namespace {

/// Printable bytes map to themselves, the others to U+0100 and following.
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
  static const ByteAlphabet alphabet;
  return alphabet;
}

/// Cuts `word` at the matches or, inverted, at the text between them.
void cut(const PreTokenizer& step, const Word& word, const std::vector<Range>& matches,
         std::vector<Word>& words) {
  using Behavior = PreTokenizer::Behavior;
  std::vector<std::pair<Range, bool>> parts;  // and whether it is a place to divide at
  size_t at = 0;
  for (const Range& match : matches) {
    if (match.first > at) parts.push_back({{at, match.first}, step.invert});
    parts.push_back({match, !step.invert});
    at = match.second;
  }
  if (at < word.text.size()) parts.push_back({{at, word.text.size()}, step.invert});
  if (step.behavior == Behavior::Contiguous) {
    std::vector<std::pair<Range, bool>> joined;
    for (const auto& part : parts) {
      if (!joined.empty() && joined.back().second == part.second) {
        joined.back().first.second = part.first.second;
      } else {
        joined.push_back(part);
      }
    }
    parts = std::move(joined);
  }
  const auto add = [&](const Range& range) {
    if (range.first == range.second) return;  // an empty match
    words.push_back({word.text.substr(range.first, range.second - range.first),
                     word.is_first && range.first == 0});
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [range, divides] = parts[i];
    const bool before = i > 0 && parts[i - 1].second;
    const bool behind = i + 1 < parts.size() && parts[i + 1].second;
    if (step.behavior == Behavior::Isolated || step.behavior == Behavior::Contiguous ||
        (step.behavior == Behavior::Removed && !divides)) {
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

/// Replaces spaces; each word then begins with the replacement.
Error split_metaspace(const PreTokenizer& step, Word word, TextBudget& budget,
                      std::vector<Word>& words) {
  using Prepend = PreTokenizer::Prepend;
  const std::string& space = step.replacement;
  std::string text;
  for (const char byte : word.text) {
    if (byte == ' ') {
      const Error error = budget.spend(space.size());
      if (error != Error::Ok) return error;
      text += space;
    } else {
      text += byte;
    }
  }
  const bool prepends =
      step.prepend == Prepend::Always || (step.prepend == Prepend::First && word.is_first);
  if (prepends && text.compare(0, space.size(), space) != 0) text.insert(0, space);
  word.text = std::move(text);
  if (!step.splits) {
    words.push_back(std::move(word));
    return Error::Ok;
  }
  for (size_t at = 0; at < word.text.size();) {
    const size_t next = word.text.find(space, at + 1);
    const size_t end = next == std::string::npos ? word.text.size() : next;
    words.push_back({word.text.substr(at, end - at), word.is_first && at == 0});
    at = end;
  }
  return Error::Ok;
}

}  // namespace

const std::string& character_of_byte(uint8_t byte) { return alphabet().characters[byte]; }

int byte_of_character(uint32_t point) {
  return point < alphabet().bytes.size() ? alphabet().bytes[point] : -1;
}

Result<std::vector<Word>> divide(const HfModel& model, const std::string& text, bool is_first,
                                 TextBudget& budget) {
  using Kind = PreTokenizer::Kind;
  std::vector<Word> words;
  if (!text.empty()) words.push_back({text, is_first});
  for (const PreTokenizer& step : model.pre_tokenizers) {
    std::vector<Word> result;
    for (Word& word : words) {
      Error error = budget.spend(word.text.size() + step.replacement.size() + 1);
      if (error != Error::Ok) return error;
      if (step.add_prefix_space && word.text[0] != ' ') word.text.insert(0, 1, ' ');
      if (step.kind == Kind::Metaspace) {
        error = split_metaspace(step, std::move(word), budget, result);
        if (error != Error::Ok) return error;
      } else if (step.pattern.has_value()) {
        const auto matches = step.pattern->find_all(word.text, budget.matching());
        if (!matches.ok()) return matches.error();
        cut(step, word, *matches, result);
      } else {
        result.push_back(std::move(word));
      }
    }
    for (Word& word : result) {
      if (step.kind != Kind::Bytes) break;
      std::string characters;
      for (const char byte : word.text) characters += character_of_byte(uint8_t(byte));
      word.text = std::move(characters);
    }
    words = std::move(result);
  }
  return words;
}

}  // namespace tokenizers::internal
