// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include <executorch/extension/pybindings/interpreter/gil.h>

namespace executorch::extension::pybindings {

/// Owns a reference to a Python object; any thread may destroy it, with or without the GIL.
class PythonReference final {
 public:
  PythonReference() = default;
  explicit PythonReference(pybind11::object object) : object_(object.release().ptr()) {}
  PythonReference(PythonReference&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  PythonReference& operator=(PythonReference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PythonReference() {
    // After the interpreter is finalized, the object cannot be released.
    if (object_ != nullptr && Py_IsInitialized() != 0) {
      const GilHold gil;
      Py_DECREF(object_);
    }
  }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace executorch::extension::pybindings
