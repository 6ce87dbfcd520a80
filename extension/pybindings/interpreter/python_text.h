// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

namespace executorch::extension::pybindings {

/// Decodes text that may come from an untrusted file: bytes that are invalid UTF-8 become `\xff`.
inline pybind11::str python_text(std::string_view text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) {
    throw pybind11::error_already_set();
  }
  return pybind11::reinterpret_steal<pybind11::str>(decoded);
}

}  // namespace executorch::extension::pybindings
