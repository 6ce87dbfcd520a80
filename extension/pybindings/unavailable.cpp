// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/unavailable.h>

#include <string>

#include <executorch/extension/pybindings/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

constexpr char kBundledPrograms[] = "bundled programs are not implemented";
constexpr char kProfiling[] = "the runtime was built without a profiler";

struct Name {
  /// The class that has it, or null for a function of the module.
  const char* owner;
  const char* name;
  const char* why;
};

constexpr Name kNames[] = {
    {"ExecuTorchModule", "load_bundled_input", kBundledPrograms},
    {"ExecuTorchModule", "verify_result_with_bundled_expected_output", kBundledPrograms},
    {"BundledModule", "__init__", kBundledPrograms},
    {nullptr, "_load_bundled_program_from_buffer", kBundledPrograms},
    {nullptr, "_load_for_executorch_from_bundled_program", kBundledPrograms},
    {nullptr, "_create_profile_block", kProfiling},
    {nullptr, "_dump_profile_results", kProfiling},
    {nullptr, "_reset_profile_results", kProfiling},
};

/// The type that annotations name; there is no instance.
struct BundledModule {};

}  // namespace

void bind_unavailable(py::module_& module) {
  py::class_<BundledModule>(module, "BundledModule", "A program with inputs and expected outputs.");
  for (const Name& row : kNames) {
    py::object owner = module;
    std::string called = row.name;
    if (row.owner != nullptr) {
      owner = module.attr(row.owner);
      called = std::string(row.owner) + "." + row.name;
    }
    const bool is_method = row.owner != nullptr;
    const auto refuse = [message = called + "(): " + row.why](const py::args&, const py::kwargs&) {
      raise_error(runtime::Error::NotImplemented, message);
    };
    py::setattr(owner, row.name,
                is_method ? py::cpp_function(refuse, py::name(row.name), py::is_method(owner))
                          : py::cpp_function(refuse, py::name(row.name)));
  }
}

}  // namespace executorch::extension::pybindings
