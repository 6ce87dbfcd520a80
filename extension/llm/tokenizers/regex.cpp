// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/regex.h>

#include <algorithm>
#include <cstdint>

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

/// Matches a pattern in a text.
class Matcher {
 public:
  Matcher(const pcre2_code* code, std::string_view text, StepBudget& steps)
      : code_(code),
        text_(text),
        steps_(steps),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {}
  ~Matcher() {
    pcre2_match_context_free(context_);
    pcre2_match_data_free(data_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  bool ready() const { return data_ != nullptr && context_ != nullptr; }
  const PCRE2_SIZE* places() const { return pcre2_get_ovector_pointer(data_); }

  /// The result of pcre2_match().
  int match(size_t at, uint32_t options) {
    for (uint32_t limit = kFreeSteps;; limit *= kGrowth) {
      pcre2_set_match_limit(context_, limit);
      const int result = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()),
                                     text_.size(), at, options, data_, context_);
      if (result != PCRE2_ERROR_MATCHLIMIT ||
          limit > std::min<uint64_t>(steps_.left(), UINT32_MAX) / kGrowth) {
        return result;
      }
      steps_.spend(uint64_t{limit} * kGrowth);
    }
  }

 private:
  /// A match may take these steps without counting, and times as many at each further attempt.
  static constexpr uint32_t kFreeSteps = 1 << 10, kGrowth = 8;

  const pcre2_code* code_;
  std::string_view text_;
  StepBudget& steps_;
  pcre2_match_data* data_;
  pcre2_match_context* context_;
};

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

Result<std::vector<Range>> Regex::find_all(std::string_view text, StepBudget& steps) const {
  Matcher matcher(code_->code, text, steps);
  if (!matcher.ready()) return Error::Internal;
  std::vector<Range> matches;
  size_t at = 0;
  uint32_t options = 0;
  while (at <= text.size()) {
    const int count = matcher.match(at, options);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      ET_LOG(Error, "tokenizer: text cannot be matched (PCRE2 error %d)", count);
      return Error::RegexFailure;
    }
    options = PCRE2_NO_UTF_CHECK;
    const PCRE2_SIZE* const places = matcher.places();
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
