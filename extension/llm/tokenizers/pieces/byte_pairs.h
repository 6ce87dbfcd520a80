// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A vocabulary of byte strings whose ids are also the order of merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/llm/tokenizers/pieces/keyed_hash.h>
#include <executorch/extension/llm/tokenizers/pieces/piece_index.h>
#include <executorch/extension/llm/tokenizers/regex.h>

namespace tokenizers::internal {

class BytePairs {
 public:
  /// ParseFailure, after a log message, for an id or bytes that occurred before.
  Error add(const std::string& bytes, uint64_t id);
  Error add_special(const std::string& text, uint64_t id);
  /// Call once after the last token. `pattern` divides text into words. ParseFailure if a single
  /// byte is missing; RegexFailure for an invalid pattern.
  Error finish(const std::string& pattern);

  /// Special tokens in `text` become their ids.
  Error encode(const std::string& text, std::vector<uint64_t>& tokens) const;
  /// Null for an id that the vocabulary does not have.
  const std::string* bytes_of(uint64_t id) const;
  std::optional<uint64_t> id_of(const std::string& bytes) const;
  bool is_special(uint64_t id) const { return special_ids_.count(id) != 0; }
  size_t num_pieces() const { return ids_.size(); }
  uint64_t highest() const { return highest_; }

 private:
  Error insert(const std::string& bytes, uint64_t id);
  Error encode_ordinary(const std::string& text, StepBudget& steps,
                        std::vector<uint64_t>& tokens) const;

  KeyedMap<std::string, uint64_t> ids_, special_;
  KeyedMap<uint64_t, std::string> bytes_;
  KeyedSet<uint64_t> special_ids_;
  PieceIndex special_index_;
  std::optional<Regex> pattern_;
  uint64_t highest_ = 0;
};

}  // namespace tokenizers::internal
