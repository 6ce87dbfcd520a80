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
/// Bytes of a pattern. A translated one has up to 120 times as many, and PCRE2 takes a multiple of
/// these before it finds that it is too long.
constexpr size_t kMaxPattern = size_t{64} << 10;

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

/// Divides a pattern into parts: an escape, the beginning of a class, a class such as [:alpha:] in
/// a class, or one byte.
class PatternParts {
 public:
  explicit PatternParts(std::string_view pattern) : rest_(pattern) {}

  bool at_end() const { return rest_.empty(); }
  /// The last part lies in a class or ends it.
  bool is_in_class() const { return is_in_class_; }

  std::string_view next() {
    if (ends_class_) is_in_class_ = ends_class_ = false;
    size_t length = 1;
    if (rest_[0] == '\\') {
      length = 2;
    } else if (is_in_class_ && rest_.substr(0, 2) == "[:") {
      length = std::min(rest_.find(":]", 2), rest_.size() - 2) + 2;
    } else if (is_in_class_) {
      ends_class_ = rest_[0] == ']';
    } else if (rest_[0] == '[') {
      is_in_class_ = true;
      if (rest_.substr(1, 1) == "^") ++length;
      if (rest_.substr(length, 1) == "]") ++length;  // it does not end the class
    } else if (rest_.substr(0, 2) == "(*") {
      length = 2;
    }
    const std::string_view part = rest_.substr(0, length);
    rest_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view rest_;
  bool is_in_class_ = false, ends_class_ = false;
};

/// Returns the part of a pattern that depends on where a search begins: \G, or a verb such as
/// (*SKIP). Null for other patterns. Searches here are divided into windows, so such a pattern
/// would match elsewhere.
const char* search_dependence(const std::string& pattern) {
  for (PatternParts parts(pattern); !parts.at_end();) {
    const std::string_view part = parts.next();
    if (part == "\\G") return "\\G";
    if (part == "(*") return "(*…)";
  }
  return nullptr;
}

// Word characters of Oniguruma: those of Unicode and, outside of classes, the numbers of Latin-1.
// PCRE2's \w lacks marks and connecting punctuation and has all numbers. No class of PCRE2 holds
// the alphabetic symbols (such as U+24B6), which [^\W] therefore lacks.
#define WORD_PROPERTIES "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define OTHER_PROPERTIES "\\p{C}\\p{Z}\\p{S}\\p{No}\\p{Pd}\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}\\p{Po}"
#define WORD_AND_LATIN WORD_PROPERTIES "\\xB2\\xB3\\xB9\\xBC-\\xBE]"
#define WORD "[" WORD_AND_LATIN

/// The pattern for PCRE2 of an escape such as \w in a pattern of Oniguruma; null if it is the same.
const char* translated_escape(char escape, bool is_in_class) {
  switch (escape) {
    // PCRE2's own white space has one character more.
    case 's':
      return "\\p{White_Space}";
    case 'S':
      return "\\P{White_Space}";
    case 'w':
      return is_in_class ? WORD_PROPERTIES : WORD;
    case 'W':
      return is_in_class ? OTHER_PROPERTIES : "[^" WORD_AND_LATIN;
    case 'b':  // a backspace in a class
      return is_in_class ? nullptr : "(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))";
    case 'B':
      return is_in_class ? nullptr : "(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))";
    default:
      return nullptr;
  }
}

/// A pattern of Oniguruma for PCRE2.
std::string translated(const std::string& pattern) {
  std::string result;
  for (PatternParts parts(pattern); !parts.at_end();) {
    const std::string_view part = parts.next();
    const char* other = nullptr;
    if (part == "[:space:]") {
      other = translated_escape('s', true);
    } else if (part == "[:word:]") {
      other = translated_escape('w', true);
    } else if (part.size() == 2 && part[0] == '\\') {
      other = translated_escape(part[1], parts.is_in_class());
    }
    result += other == nullptr ? part : other;
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

Result<Regex> Regex::compile(const std::string& given, Dialect dialect) {
  if (given.size() > kMaxPattern) {
    ET_LOG(Error, "tokenizer: a pattern has %zu bytes, expected at most %zu", given.size(),
           kMaxPattern);
    return Error::RegexFailure;
  }
  if (const char* const part = search_dependence(given)) {
    ET_LOG(Error, "tokenizer: '%s' has %s, which is not supported", given.c_str(), part);
    return Error::RegexFailure;
  }
  const std::string pattern = translated(given);
  int error = 0;
  PCRE2_SIZE place = 0;
  const auto code = std::make_shared<Code>();
  const uint32_t ends =
      dialect == Dialect::Oniguruma ? PCRE2_MULTILINE : uint32_t{PCRE2_DOLLAR_ENDONLY};
  // \C, a single byte, would divide characters.
  code->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT | ends,
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
  std::vector<Range> matches;
  if (text.empty()) return matches;
  Matcher matcher(code_->code, text, steps);
  if (!matcher.ready()) return Error::Internal;
  size_t at = 0, last_end = SIZE_MAX;
  while (at <= text.size()) {
    const int count = matcher.match(at);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      ET_LOG(Error, "tokenizer: text cannot be matched (PCRE2 error %d)", count);
      return Error::RegexFailure;
    }
    const PCRE2_SIZE* const places = matcher.places();
    const bool is_repeated = places[0] == places[1] && places[1] == last_end;
    if (places[0] >= at && places[1] >= places[0] && !is_repeated) {
      matches.emplace_back(places[0], places[1]);
      at = last_end = places[1];
      continue;
    }
    at = std::max(at, places[1]) + 1;
    if (at <= text.size()) at = character_from(text, at);
  }
  return matches;
}

}  // namespace tokenizers::internal
