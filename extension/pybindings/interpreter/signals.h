// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Python's signals while a thread works, or waits, without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>

#include <executorch/extension/pybindings/interpreter/gil.h>

namespace executorch::extension::pybindings {

/// How long a signal, such as that of Ctrl-C, waits for its handler.
constexpr std::chrono::milliseconds kSignalPeriod{50};

/// The interrupt check of an execution: runs the handlers of signals that came since it began. In
/// threads other than the main one there are none.
class SignalCheck final {
 public:
  explicit SignalCheck(const GilRelease& released) : released_(released) {}

  /// Whether a handler raised an exception; Python's error indicator is set then. Takes the GIL
  /// once in kSignalPeriod, and reads the clock only as often as that needs.
  bool interrupts();

 private:
  const GilRelease& released_;
  int64_t checked_at_ = 0;
  int64_t read_at_ = 0;
  unsigned skipped_ = 0;
  unsigned to_skip_ = 0;
};

/// Calls `wait(kSignalPeriod)` without the GIL until it returns true, with handlers of signals in
/// between. Throws the exception of a handler.
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

/// Locks a timed mutex without the GIL, so that who has it may wait for the GIL.
template <typename Mutex>
void lock_with_signals(Mutex& mutex) {
  if (!mutex.try_lock()) {
    wait_with_signals([&](std::chrono::milliseconds period) {
      return mutex.try_lock_until(std::chrono::system_clock::now() + period);
    });
  }
}

}  // namespace executorch::extension::pybindings
