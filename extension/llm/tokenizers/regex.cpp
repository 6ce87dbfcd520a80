// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/regex.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/extension/memory_allocator/byte_budget.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

namespace {

// A pattern of 64 KB, the limit of PCRE2, can be 6 MB of machine code. All patterns of the process
// together have as much of it as this; PCRE2 interprets the others.
constexpr size_t kMaxMachineCode = size_t{64} << 20;
/// Bytes of machine code for each byte of a compiled pattern, at most: 91 were seen (PCRE2 10.42).
constexpr size_t kMachineCodePerByte = 100;
executorch::extension::ByteBudget machine_code;

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  executorch::extension::TakenBytes bytes{machine_code};

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }

  /// Translates the pattern to machine code, without which matching is slower, if there is room.
  void compile_machine_code(uint32_t options) {
    size_t size = 0;
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
    if (bytes.take(size * kMachineCodePerByte, kMaxMachineCode)) {
      pcre2_jit_compile(code, options);
      pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size);
      bytes.resize(size);  // most patterns take a small part
    }
  }
};

Regex::Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

namespace {

// Before PCRE2 10.43, compiled code for partial matches on aarch64 may loop forever (PCRE2 issue
// 257); pcre2_match() then interprets them.
#if defined(__aarch64__) && PCRE2_MAJOR == 10 && PCRE2_MINOR < 43
constexpr uint32_t kJit = PCRE2_JIT_COMPLETE;
#else
constexpr uint32_t kJit = PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD;
#endif

/// Returns the part of a pattern that depends on where a search begins: \G, or a verb such as
/// (*SKIP). Null for other patterns. Searches here are divided into windows, so such a pattern
/// would match elsewhere.
const char* search_dependence(const std::string& pattern) {
  bool is_in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] == '\\') {
      if (next == 'G') return "\\G";
      ++i;
    } else if (is_in_class && pattern[i] == '[' && next == ':') {
      i = std::min(pattern.find(":]", i + 2), pattern.size() - 2) + 1;  // a class such as [:alpha:]
    } else if (is_in_class) {
      is_in_class = pattern[i] != ']';
    } else if (pattern[i] == '[') {
      is_in_class = true;
      if (next == '^') ++i;
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') ++i;  // it does not end the class
    } else if (pattern[i] == '(' && next == '*') {
      return "(*…)";
    }
  }
  return nullptr;
}

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

/// The first byte at or after `at` that begins a character; the text's size if there is none.
size_t character_from(std::string_view text, size_t at) {
  while (at < text.size() && (uint8_t(text[at]) & 0xC0) == 0x80) ++at;
  return std::min(at, text.size());
}

/// Matches a pattern in a text, which is UTF-8. PCRE2 does not count the characters that a
/// repetition or a lookahead reads, so each attempt has a window: PCRE2 reports that it reached its
/// end, and a larger window is taken from the budget.
class Matcher {
 public:
  Matcher(const pcre2_code* code, std::string_view text, StepBudget& steps)
      : code_(code),
        text_(text),
        steps_(steps),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (context_ != nullptr) pcre2_set_heap_limit(context_, kHeapKibibytes);
    uint32_t options = 0;
    pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options);
    is_anchored_ = (options & PCRE2_ANCHORED) != 0;
  }
  ~Matcher() {
    pcre2_match_context_free(context_);
    pcre2_match_data_free(data_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  bool ready() const { return data_ != nullptr && context_ != nullptr; }
  const PCRE2_SIZE* places() const { return pcre2_get_ovector_pointer(data_); }

  /// The result of pcre2_match() for the first match that begins at `at` or later.
  int match(size_t at) {
    while (true) {
      const size_t last = character_from(text_, at + kWindow);
      int result = attempt(at, last, at + 2 * kWindow);
      if (result == PCRE2_ERROR_PARTIAL) {
        at = pcre2_get_startchar(data_);
        result = match_at(at);
      } else {
        at = last;
      }
      if (result != PCRE2_ERROR_NOMATCH || is_anchored_ || at >= text_.size()) return result;
      at = character_from(text_, at + 1);
    }
  }

 private:
  /// A match may take these steps without counting, and times as many at each further attempt.
  static constexpr uint32_t kFreeSteps = 1 << 10, kGrowth = 8;
  /// Memory of a match that is interpreted, where each step may take 16 bytes for each group of the
  /// pattern: PCRE2 compiles no pattern of thousands of groups to machine code.
  static constexpr uint32_t kHeapKibibytes = 1 << 16;
  /// Bytes where an attempt may begin; its window ends this many bytes later.
  static constexpr size_t kWindow = 512, kWindowGrowth = 4;
  /// Bytes that are read in the time of a step.
  static constexpr size_t kBytesOfStep = 8;

  /// A match that begins at `at` and needs more than one window.
  int match_at(size_t at) {
    for (size_t window = kWindow;;) {
      window *= kWindowGrowth;
      if (steps_.left() < window / kBytesOfStep) return PCRE2_ERROR_MATCHLIMIT;
      steps_.spend(window / kBytesOfStep);
      const int result = attempt(at, at, at + window);
      if (result != PCRE2_ERROR_PARTIAL) return result;
    }
  }

  /// A match that begins from `first` to `last` and does not depend on bytes from about `end` on;
  /// PCRE2_ERROR_PARTIAL if it may.
  int attempt(size_t first, size_t last, size_t end) {
    const size_t size = character_from(text_, end);
    const uint32_t options =
        PCRE2_NO_UTF_CHECK | (size < text_.size() ? PCRE2_PARTIAL_HARD : uint32_t{0});
    pcre2_set_offset_limit(context_, last);
    for (uint32_t limit = kFreeSteps;; limit *= kGrowth) {
      pcre2_set_match_limit(context_, limit);
      const int result = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), size, first,
                                     options, data_, context_);
      if (result != PCRE2_ERROR_MATCHLIMIT ||
          limit > std::min<uint64_t>(steps_.left(), UINT32_MAX) / kGrowth) {
        return result;
      }
      steps_.spend(uint64_t{limit} * kGrowth);
    }
  }

  const pcre2_code* code_;
  std::string_view text_;
  StepBudget& steps_;
  pcre2_match_data* data_;
  pcre2_match_context* context_;
  bool is_anchored_ = false;  ///< PCRE2 tries to match at one place only
};

}  // namespace

Result<Regex> Regex::compile(const std::string& given) {
  if (const char* const part = search_dependence(given)) {
    ET_LOG(Error, "tokenizer: '%s' has %s, which is not supported", given.c_str(), part);
    return Error::RegexFailure;
  }
  const std::string pattern = with_unicode_spaces(given);
  int error = 0;
  PCRE2_SIZE place = 0;
  const auto code = std::make_shared<Code>();
  // \C, a single byte, would divide characters.
  code->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
                    &error, &place, nullptr);
  if (code->code == nullptr) {
    ET_LOG(Error, "tokenizer: '%s' is not a valid pattern (byte %zu)", given.c_str(),
           size_t(place));
    return Error::RegexFailure;
  }
  code->compile_machine_code(kJit);
  return Regex(code);
}

Result<std::vector<Range>> Regex::find_all(std::string_view text, StepBudget& steps) const {
  if (!is_utf8(text)) {
    ET_LOG(Error, "tokenizer: text cannot be matched: expected UTF-8");
    return Error::RegexFailure;
  }
  Matcher matcher(code_->code, text, steps);
  if (!matcher.ready()) return Error::Internal;
  std::vector<Range> matches;
  size_t at = 0;
  while (at <= text.size()) {
    const int count = matcher.match(at);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      ET_LOG(Error, "tokenizer: text cannot be matched (PCRE2 error %d)", count);
      return Error::RegexFailure;
    }
    const PCRE2_SIZE* const places = matcher.places();
    if (places[0] >= at && places[1] > places[0]) {
      matches.emplace_back(places[0], places[1]);
      at = places[1];
      continue;
    }
    at = std::max(at, places[1]) + 1;
    if (at <= text.size()) at = character_from(text, at);
  }
  return matches;
}

}  // namespace tokenizers::internal
