// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstddef>
#include <string>

#include <executorch/extension/llm/tokenizers/regex.h>
#include <executorch/runtime/platform/log.h>
#include <pytorch/tokenizers/result.h>

namespace tokenizers::internal {

/// Limits the bytes that all steps of a file produce from one text together, and the steps of their
/// patterns. Otherwise a few steps that double the text would take all memory.
class TextBudget {
 public:
  explicit TextBudget(size_t text_bytes)
      : left_(kBase + kTimes * text_bytes), matching_(text_bytes) {}

  /// EncodeFailure, after a log message, if `bytes` more exceed the limit.
  [[nodiscard]] Error spend(size_t bytes) {
    if (bytes > left_) {
      ET_LOG(Error, "tokenizer: the steps of the file produce too many bytes from a text");
      return Error::EncodeFailure;
    }
    left_ -= bytes;
    return Error::Ok;
  }

  StepBudget& matching() { return matching_; }

 private:
  /// Each step of a published file spends one to four bytes for each byte of text.
  static constexpr size_t kBase = size_t{1} << 16, kTimes = 256;
  size_t left_;
  StepBudget matching_;
};

/// Returns `text` with each `from` replaced by `to`. Spends the bytes of `to` each time.
inline Result<std::string> replaced(const std::string& text, const std::string& from,
                                    const std::string& to, TextBudget& budget) {
  if (from.empty()) return text;
  std::string result;
  size_t at = 0;
  for (size_t match = text.find(from); match != std::string::npos; match = text.find(from, at)) {
    const Error error = budget.spend(to.size());
    if (error != Error::Ok) return error;
    result.append(text, at, match - at).append(to);
    at = match + from.size();
  }
  return result.append(text, at);
}

}  // namespace tokenizers::internal
