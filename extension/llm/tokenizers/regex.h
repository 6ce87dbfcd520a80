// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Patterns of tokenizers, matched by PCRE2 with Unicode's properties.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pytorch/tokenizers/result.h>

namespace tokenizers::internal {

/// Bytes of a match, from `first` to before `second`.
using Range = std::pair<size_t, size_t>;

/// Limits the steps of all matches in one text together, and the bytes that long matches read. Many
/// matches that each stay below PCRE2's own limit could take too long. Published patterns take a
/// few steps for each byte of a long word.
class StepBudget {
 public:
  explicit StepBudget(size_t text_bytes) : left_(kBase + kStepsPerByte * text_bytes) {}

  uint64_t left() const { return left_; }
  void spend(uint64_t steps) { left_ -= steps; }

 private:
  static constexpr uint64_t kBase = uint64_t{1} << 25, kStepsPerByte = 64;
  uint64_t left_;
};

/// Copies share the compiled pattern.
class Regex {
 public:
  /// ^ and $ match at lines in Oniguruma (the package "tokenizers"), at the ends of the text in
  /// Rust (tiktoken).
  enum class Dialect : uint8_t { Oniguruma, Rust };
  /// RegexFailure, after a log message, for an invalid pattern.
  static Result<Regex> compile(const std::string& pattern, Dialect dialect = Dialect::Oniguruma);

  /// All matches, from left to right, as the package "tokenizers" finds them: an empty text has
  /// none, and an empty match directly behind another match does not count. RegexFailure for
  /// invalid UTF-8, or when `steps` runs out.
  Result<std::vector<Range>> find_all(std::string_view text, StepBudget& steps) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code);
  std::shared_ptr<const Code> code_;
};

}  // namespace tokenizers::internal
