// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime's error messages of one call, for the exception that the call ends in.
#pragma once

#include <string>
#include <vector>

namespace executorch::extension::pybindings {

/// Puts our log sink in force. Error messages of a thread that is within a LogCapture go there; all
/// others go where they went before.
void install_log_sink();

/// While it exists, collects the error messages logged by this thread. Those that no exception took
/// are logged when it ends.
class LogCapture final {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The messages of this thread's innermost capture, oldest first; they count as told.
  static std::vector<std::string> take();

  /// Called by the sink.
  void add(const char* message, size_t length) { lines_.emplace_back(message, length); }

 private:
  LogCapture* outer_;
  std::vector<std::string> lines_;
};

}  // namespace executorch::extension::pybindings
