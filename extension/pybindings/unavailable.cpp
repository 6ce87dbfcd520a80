// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/unavailable.h>

#include <string>

#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

constexpr const char* kNames[] = {"_create_profile_block", "_dump_profile_results",
                                  "_reset_profile_results"};

}  // namespace

void bind_unavailable(py::module_& module) {
  for (const char* name : kNames) {
    const auto refuse = [name](const py::args&, const py::kwargs&) {
      raise_error(runtime::Error::NotImplemented,
                  std::string(name) + "(): the runtime was built without a profiler");
    };
    py::setattr(module, name, py::cpp_function(refuse, py::name(name)));
  }
}

}  // namespace executorch::extension::pybindings
