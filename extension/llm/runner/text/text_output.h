// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// From the bytes of tokens to the text that callbacks receive.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace executorch::extension::llm {

/// Collects UTF-8 text that arrives in pieces of bytes into whole characters.
class Utf8Stream final {
 public:
  /// Appends `bytes`; returns the characters that are complete now.
  std::string add(const std::string& bytes) {
    pending_ += bytes;
    const size_t complete = pending_.size() - unfinished();
    std::string text = pending_.substr(0, complete);
    pending_.erase(0, complete);
    return text;
  }
  /// Returns the bytes of an incomplete character.
  std::string rest() { return std::exchange(pending_, std::string()); }

 private:
  /// Number of bytes at the end that begin a character but do not complete it.
  size_t unfinished() const {
    for (size_t back = 1; back <= 3 && back <= pending_.size(); ++back) {
      const auto byte = static_cast<unsigned char>(pending_[pending_.size() - back]);
      if ((byte & 0xC0) == 0x80) continue;
      const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
      return back < length ? back : 0;
    }
    return 0;
  }

  std::string pending_;
};

/// Finds texts that end a generation, also across pieces.
class StopStrings final {
 public:
  explicit StopStrings(const std::vector<std::string>& texts) : texts_(texts) {
    for (const std::string& text : texts_)
      longest_ = text.size() > longest_ ? text.size() : longest_;
  }
  /// Returns whether `text` completes one of the texts, and then cuts `text` after it.
  bool ends(std::string& text) {
    if (longest_ == 0) return false;
    const size_t before = tail_.size();
    tail_ += text;
    size_t end = std::string::npos;
    for (const std::string& stop : texts_) {
      const size_t stop_at = stop.empty() ? std::string::npos : tail_.find(stop);
      if (stop_at != std::string::npos) end = std::min(end, stop_at + stop.size());
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

/// Passes generated text to a callback.
class TextOutput final {
 public:
  /// The references must outlive the object.
  TextOutput(const std::vector<std::string>& stop_strings,
             const std::function<void(const std::string&)>& callback)
      : stops_(stop_strings), callback_(callback) {}

  /// Passes on the characters that `piece` completes; returns whether a stop string ends the text.
  bool add(const std::string& piece) {
    std::string text = stream_.add(piece);
    const bool is_over = stops_.ends(text);
    if (is_over) stream_.rest();
    pass_on(text);
    return is_over;
  }
  /// Passes on an incomplete character at the end.
  void finish() { pass_on(stream_.rest()); }

 private:
  void pass_on(const std::string& text) {
    if (!text.empty() && callback_) callback_(text);
  }

  Utf8Stream stream_;
  StopStrings stops_;
  const std::function<void(const std::string&)>& callback_;
};

}  // namespace executorch::extension::llm
