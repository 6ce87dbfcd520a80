// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/interpreter/raise.h>

#include <pybind11/pybind11.h>

#include <cstring>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

[[noreturn]] void raise_named(const char* error_name, const std::string& message,
                              py::handle cause = nullptr) {
  const py::object make = py::module_::import("executorch.runtime.errors").attr("from_runtime");
  py::list details;
  for (const std::string& line : LogCapture::take()) {
    details.append(python_text(line));
  }
  const py::object exception = make(error_name, python_text(message), details);
  if (cause) {
    PyException_SetCause(exception.ptr(), cause.inc_ref().ptr());
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

/// "InvalidArgument" for Error::InvalidArgument.
const char* bare_name(runtime::Error error) {
  const char* name = runtime::to_string(error);
  const char* colon = std::strrchr(name, ':');
  return colon == nullptr ? name : colon + 1;
}

}  // namespace

void raise_error(runtime::Error error, const std::string& message) {
  raise_named(bare_name(error), message);
}

void raise_method_not_found(const std::string& message) { raise_named("MethodNotFound", message); }

void raise_cancelled(const std::string& message) { raise_named("ExecutionCancelled", message); }

void raise_budget_used_up(const std::string& message) {
  raise_named("InstructionBudgetUsedUp", message);
}

void expect_path(const std::string& path) {
  const size_t at = path.find('\0');
  if (at == std::string::npos) return;
  raise_error(runtime::Error::InvalidArgument, "path '" + path.substr(0, at) +
                                                   "': expected no NUL character, found one at " +
                                                   std::to_string(at));
}

void raise_from_python(const std::string& message) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
    throw py::error_already_set();  // KeyboardInterrupt and SystemExit reach the caller
  }
  const py::error_already_set cause;
  const std::string text = py::str(cause.value());
  raise_named(bare_name(runtime::Error::InvalidArgument),
              message + ": " + text.substr(0, text.find('\n')), cause.value());
}

}  // namespace executorch::extension::pybindings
