// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <executorch/runtime/platform/platform.h>

/// Collects the log messages of the runtime as long as it lives; one at a time.
class LogCapture final {
 public:
  struct Message {
    et_pal_log_level_t level;
    std::string file;
    size_t line;
    std::string text;
  };

  LogCapture() : before_(executorch::runtime::get_pal_impl()->emit_log_message) {
    messages_.clear();
    executorch::runtime::register_pal(
        executorch::runtime::PalImpl::create(&LogCapture::emit, __FILE__));
  }
  ~LogCapture() {
    executorch::runtime::register_pal(executorch::runtime::PalImpl::create(before_, __FILE__));
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  const std::vector<Message>& messages() const { return messages_; }
  /// All texts, one in each line.
  std::string text() const {
    std::string all;
    for (const Message& message : messages_) {
      all += message.text + "\n";
    }
    return all;
  }
  bool contains(const std::string& what) const { return text().find(what) != std::string::npos; }

 private:
  static void emit(et_timestamp_t, et_pal_log_level_t level, const char* file, const char*,
                   size_t line, const char* message, size_t length) {
    messages_.push_back({level, file, line, std::string(message, length)});
  }

  inline static std::vector<Message> messages_;
  executorch::runtime::pal_emit_log_message_method before_;
};
