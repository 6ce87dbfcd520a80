// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime's error messages of one call, for the exception that the call ends in.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace executorch::extension::pybindings {

/// Puts our log sink in force. Error messages of a thread that is within a LogCapture go there; all
/// others go where they went before.
void install_log_sink();

/// Error messages of several threads.
class SharedLog final {
 public:
  void add(const char* message, size_t length) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(message, length);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// While it exists, collects the error messages logged by this thread. Those that no exception took
/// are logged when it ends.
class LogCapture final {
 public:
  LogCapture();
  /// What this thread logs goes to `shared` as soon as it is logged.
  explicit LogCapture(std::shared_ptr<SharedLog> shared);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The messages of this thread's innermost capture, oldest first; they count as told.
  static std::vector<std::string> take();

  /// Called by the sink, whose callers know no exceptions; false if there is no memory.
  bool add(const char* message, size_t length);
  /// This thread's innermost capture; null if there is none.
  static LogCapture* current();

 private:
  LogCapture* outer_;
  std::shared_ptr<SharedLog> shared_;
  std::vector<std::string> lines_;
};

}  // namespace executorch::extension::pybindings
