// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030E0000
#include <unistd.h>
#endif

namespace executorch::extension::pybindings {

/// What `take` returns, which takes the GIL. A daemon thread never comes back from it once Python
/// is being finalized: what lies above on its stack uses Python objects, so it must not be unwound.
template <typename Take>
auto take_gil(Take&& take) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  // Before 3.14, Python ends such a thread by pthread_exit(), which unwinds the stack. Later ones
  // stop it for ever, as here.
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

/// Frees the GIL for a scope.
class GilRelease final {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() { restore(); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

  /// What `body` returns, called with the GIL.
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

/// Has the GIL for a scope, in any thread.
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
