// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The one line that executor_runner leaves when it cannot do its work.
#pragma once

#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::executor_runner {

/// From now on the runtime's error messages are kept for fail(), and other messages are dropped.
void collect_messages();

/// Returns the messages kept so far, and drops them.
std::string take_messages();

/// Prints "executor_runner: <what>: <the runtime's messages>" as one line on stderr and ends the
/// process with status 1.
[[noreturn]] void fail(const std::string& what);

/// The result's value, or fail().
template <typename T>
T require(runtime::Result<T> result, const std::string& what) {
  if (!result.ok()) {
    fail(what + " (" + runtime::to_string(result.error()) + ")");
  }
  return std::move(*result);
}

inline void require(runtime::Error error, const std::string& what) {
  if (error != runtime::Error::Ok) {
    fail(what + " (" + runtime::to_string(error) + ")");
  }
}

}  // namespace executorch::extension::executor_runner
