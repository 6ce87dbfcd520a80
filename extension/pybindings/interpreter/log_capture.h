// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Collects the runtime's error messages during a call, for the exception that the call raises.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace executorch::extension::pybindings {

/// Installs the log sink of this module: a LogCapture takes the error messages of its thread, the
/// previous sink all others.
void install_log_sink();

/// A thread-safe list of error messages.
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

/// Collects the error messages that this thread logs during the object's lifetime. The destructor
/// logs those that take() did not return.
class LogCapture final {
 public:
  LogCapture();
  /// Adds messages to `shared` as soon as they are logged.
  explicit LogCapture(std::shared_ptr<SharedLog> shared);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// Removes and returns the messages of this thread's innermost capture, oldest first.
  static std::vector<std::string> take();

  /// Adds a message; false if memory runs out. Does not throw, because the runtime calls the sink.
  bool add(const char* message, size_t length);
  /// Returns this thread's innermost capture, or null.
  static LogCapture* current();

 private:
  LogCapture* outer_;
  std::shared_ptr<SharedLog> shared_;
  std::vector<std::string> lines_;
};

}  // namespace executorch::extension::pybindings
