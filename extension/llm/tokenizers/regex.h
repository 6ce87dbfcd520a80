// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Patterns of tokenizers, matched by PCRE2 with Unicode's properties.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pytorch/tokenizers/result.h>

namespace tokenizers::internal {

/// Bytes of a match, from `first` to before `second`.
using Range = std::pair<size_t, size_t>;

/// Copies share the compiled pattern.
class Regex {
 public:
  /// RegexFailure, after a log message, for an invalid pattern.
  static Result<Regex> compile(const std::string& pattern);

  /// All matches that are not empty, from left to right. RegexFailure for text that is not UTF-8,
  /// or that takes too many steps to match.
  Result<std::vector<Range>> find_all(std::string_view text) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code);
  std::shared_ptr<const Code> code_;
};

}  // namespace tokenizers::internal
