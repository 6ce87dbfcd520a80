// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace executorch::extension::llm {

/// A text and the part of it that the model's cache holds.
struct TextState {
  std::vector<uint64_t> tokens;
  /// Number of tokens at the end that the model has not run yet.
  size_t pending = 0;
  /// Number of entries in the cache. Images and audio have entries, but no tokens.
  int64_t position = 0;
};

/// Restores a state at the end of its scope, after exceptions too, unless keep() was called.
class Rollback final {
 public:
  /// `window`: the positions that a ring cache holds; 0: the cache holds all.
  Rollback(TextState& state, int64_t window) : state_(state), saved_(state), window_(window) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (keeps_) return;
    const bool is_overwritten = window_ > 0 && state_.position > std::max(window_, valid_limit());
    const int64_t valid = is_overwritten ? 0 : valid_limit();
    const auto lost = size_t(saved_.position - valid);
    state_ = std::move(saved_);
    state_.pending += lost;
    state_.position = valid;
  }
  void keep() { keeps_ = true; }
  /// Records that entries from `position` on are overwritten.
  void overwrites(int64_t position) { overwritten_ = position; }

 private:
  int64_t valid_limit() const {
    return overwritten_ < 0 ? saved_.position : std::min(saved_.position, overwritten_);
  }

  TextState& state_;
  TextState saved_;
  const int64_t window_;
  int64_t overwritten_ = -1;
  bool keeps_ = false;
};

}  // namespace executorch::extension::llm
