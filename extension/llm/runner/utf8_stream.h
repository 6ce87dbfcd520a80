// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace executorch::extension::llm {

/// Passes on whole characters of UTF-8 text that arrives in pieces of bytes.
class Utf8Stream final {
 public:
  /// The text that is complete with `bytes`.
  std::string add(const std::string& bytes) {
    held_ += bytes;
    const size_t complete = held_.size() - unfinished();
    std::string text = held_.substr(0, complete);
    held_.erase(0, complete);
    return text;
  }
  /// Bytes of an incomplete character.
  std::string rest() { return std::move(held_); }

 private:
  /// Bytes at the end that begin a character and do not complete it.
  size_t unfinished() const {
    for (size_t back = 1; back <= 3 && back <= held_.size(); ++back) {
      const auto byte = static_cast<unsigned char>(held_[held_.size() - back]);
      if ((byte & 0xC0) == 0x80) continue;
      const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
      return back < length ? back : 0;
    }
    return 0;
  }

  std::string held_;
};

/// Finds texts that end a generation, also where they are divided among pieces.
class StopStrings final {
 public:
  explicit StopStrings(const std::vector<std::string>& texts) : texts_(texts) {
    for (const std::string& text : texts_)
      longest_ = text.size() > longest_ ? text.size() : longest_;
  }
  /// Whether `text` completes one of them; `text` is then cut behind it.
  bool ends(std::string& text) {
    if (longest_ == 0) return false;
    const size_t before = tail_.size();
    tail_ += text;
    size_t end = std::string::npos;
    for (const std::string& stop : texts_) {
      const size_t found = stop.empty() ? std::string::npos : tail_.find(stop);
      if (found != std::string::npos) end = std::min(end, found + stop.size());
    }
    if (end != std::string::npos) {
      text.resize(end - before);
      return true;
    }
    if (tail_.size() >= longest_) tail_.erase(0, tail_.size() - longest_ + 1);
    return false;
  }

 private:
  const std::vector<std::string>& texts_;
  std::string tail_;
  size_t longest_ = 0;
};

}  // namespace executorch::extension::llm
