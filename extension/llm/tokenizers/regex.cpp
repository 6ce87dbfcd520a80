// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/regex.h>

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

struct Regex::Code {
  pcre2_code* code = nullptr;
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

namespace {

/// White space as Unicode and Oniguruma have it; PCRE2's own class has one character more.
std::string with_unicode_spaces(const std::string& pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      result += pattern[i];
      continue;
    }
    const char next = pattern[++i];
    if (next == 's') {
      result += "\\p{White_Space}";
    } else if (next == 'S') {
      result += "\\P{White_Space}";
    } else {
      result += '\\';
      result += next;
    }
  }
  return result;
}

}  // namespace

Result<Regex> Regex::compile(const std::string& given) {
  const std::string pattern = with_unicode_spaces(given);
  int error = 0;
  PCRE2_SIZE place = 0;
  const auto code = std::make_shared<Code>();
  // \C, a single byte, would divide characters.
  code->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr);
  if (code->code == nullptr) {
    ET_LOG(Error, "tokenizer: '%s' is not a valid pattern (byte %zu)", given.c_str(),
           size_t(place));
    return Error::RegexFailure;
  }
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // without it, matching is slower
  return Regex(code);
}

Result<std::vector<Range>> Regex::find_all(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
      pcre2_match_data_create_from_pattern(code_->code, nullptr), pcre2_match_data_free);
  if (data == nullptr) return Error::Internal;
  std::vector<Range> matches;
  size_t at = 0;
  uint32_t options = 0;
  while (at <= text.size()) {
    const int count = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), at, options, data.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      ET_LOG(Error, "tokenizer: text cannot be matched (PCRE2 error %d)", count);
      return Error::RegexFailure;
    }
    options = PCRE2_NO_UTF_CHECK;
    const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(data.get());
    if (places[0] >= at && places[1] > places[0]) {
      matches.emplace_back(places[0], places[1]);
      at = places[1];
      continue;
    }
    at = std::max(at, places[1]) + 1;
    while (at < text.size() && (uint8_t(text[at]) & 0xC0) == 0x80) ++at;
  }
  return matches;
}

}  // namespace tokenizers::internal
