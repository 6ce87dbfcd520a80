// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/bundled_module.h>

#include <utility>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using bundled_program::Bundle;
using bundled_program::TestCase;
using bundled_program::TestSuite;
using runtime::Result;

BundledModule::BundledModule(py::bytes bytes) : bytes_(std::move(bytes)) {
  const LogCapture capture;
  const Result<Bundle> bundle =
      Bundle::open({reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes_.ptr())),
                    static_cast<size_t>(PyBytes_GET_SIZE(bytes_.ptr()))});
  if (!bundle.ok()) {
    raise_error(bundle.error(), "cannot load the bundled program from a buffer");
  }
  bundle_.emplace(*bundle);
}

std::shared_ptr<LoadedProgram> BundledModule::load_program() const {
  return LoadedProgram::from_memory(bytes_, bundle_->program(), "a bundled program",
                                    runtime::Program::Verification::InternalConsistency);
}

TestCase BundledModule::test_case(const std::string& method, size_t index) const {
  const LogCapture capture;
  const Result<TestSuite> suite = bundle_->suite_of(method);
  if (!suite.ok()) {
    raise_error(suite.error(), "no test cases of the method '" + method + "'");
  }
  const Result<TestCase> test_case = suite->test_case(index);
  if (!test_case.ok()) {
    raise_error(test_case.error(), "no test case " + std::to_string(index));
  }
  return *test_case;
}

void load_bundled_input(LoadedModule& module, const BundledModule& bundle,
                        const std::string& method, size_t index) {
  module.method(method)->set_case_inputs(bundle.test_case(method, index));
}

py::list verify_bundled_case(LoadedModule& module, const BundledModule& bundle,
                             const std::string& method, size_t index, double rtol, double atol) {
  const std::shared_ptr<LoadedMethod> loaded = module.method(method);
  const TestCase test_case = bundle.test_case(method, index);
  loaded->set_case_inputs(test_case);
  loaded->execute();
  py::list outputs = loaded->outputs(true);
  loaded->compare_outputs(test_case, {rtol, atol},
                          method + "(), test case " + std::to_string(index));
  return outputs;
}

void bind_bundled_module(py::module_& module) {
  py::class_<BundledModule>(module, "BundledModule", py::module_local(),
                            "A program with inputs and expected outputs.")
      .def(
          "verify_result_with_bundled_expected_output",
          [](const BundledModule& bundle, const std::string& method, size_t index, double rtol,
             double atol) {
            LoadedModule module(bundle.load_program());
            return verify_bundled_case(module, bundle, method, index, rtol, atol);
          },
          py::arg("method_name"), py::arg("testset_idx"), py::arg("rtol") = 1e-5,
          py::arg("atol") = 1e-8);
}

}  // namespace executorch::extension::pybindings
