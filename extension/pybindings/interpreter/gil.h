// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030E0000
#include <unistd.h>
#endif

namespace executorch::extension::pybindings {

/// Returns take(), which acquires the GIL. Once Python is being finalized, this never returns in a
/// daemon thread: the frames above use Python objects, so its stack must not be unwound.
template <typename Take>
auto take_gil(Take&& take) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  // Before 3.14, Python ends such a thread by pthread_exit(), which unwinds the stack. Later
  // versions block it forever, as here.
  try {
    return take();
  } catch (...) {
    for (;;) {
      pause();
    }
  }
#else
  return take();
#endif
}

/// Releases the GIL for a scope.
class GilRelease final {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() { restore(); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

  /// Returns body(), called with the GIL held.
  template <typename Body>
  auto with_gil(Body&& body) const {
    restore();
    struct Save {
      ~Save() { PyEval_SaveThread(); }
    } save;
    return body();
  }

 private:
  void restore() const {
    take_gil([this] { PyEval_RestoreThread(state_); });
  }

  PyThreadState* const state_;
};

/// Holds the GIL for a scope, in any thread.
class GilHold final {
 public:
  GilHold() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~GilHold() { PyGILState_Release(state_); }
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  const PyGILState_STATE state_;
};

}  // namespace executorch::extension::pybindings
