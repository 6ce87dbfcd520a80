// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Handles Python's signals while a thread runs or waits without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>

#include <executorch/extension/pybindings/interpreter/gil.h>

namespace executorch::extension::pybindings {

/// Longest delay between a signal, such as Ctrl-C's, and its handler.
constexpr std::chrono::milliseconds kSignalPeriod{50};

/// The interrupt check of an execution: runs the handlers of signals that arrived since it began.
/// Python runs them in the main thread only.
class SignalCheck final {
 public:
  explicit SignalCheck(const GilRelease& released) : released_(released) {}

  /// Returns whether a handler raised an exception, which then is Python's error indicator.
  /// Acquires the GIL once in kSignalPeriod and reads the clock as rarely as that allows.
  bool interrupts();

 private:
  const GilRelease& released_;
  int64_t checked_at_ = 0;
  int64_t read_at_ = 0;
  unsigned skipped_ = 0;
  unsigned to_skip_ = 0;
};

/// Calls `wait(kSignalPeriod)` without the GIL until it returns true, and runs signal handlers
/// between the calls. Throws a handler's exception.
template <typename Wait>
void wait_with_signals(Wait&& wait) {
  bool has_raised = false;
  {
    const GilRelease released;
    while (!has_raised && !wait(kSignalPeriod)) {
      has_raised = released.with_gil([] { return PyErr_CheckSignals() != 0; });
    }
  }
  if (has_raised) {
    throw pybind11::error_already_set();
  }
}

/// Locks a timed mutex without holding the GIL, because the mutex's owner may wait for the GIL.
template <typename Mutex>
void lock_with_signals(Mutex& mutex) {
  if (!mutex.try_lock()) {
    wait_with_signals([&](std::chrono::milliseconds period) {
      return mutex.try_lock_until(std::chrono::system_clock::now() + period);
    });
  }
}

}  // namespace executorch::extension::pybindings
