// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/extension/pybindings/program/loaded_module.h>

namespace executorch::extension::pybindings {

/// A verified .bpte file in memory that a Python object owns.
class BundledModule final {
 public:
  /// Raises NotSupportedError if the bytes are not a bundled program, InvalidProgramError if the
  /// bundled program is damaged.
  explicit BundledModule(pybind11::bytes bytes);

  /// The program in it, which keeps the bytes alive.
  std::shared_ptr<LoadedProgram> load_program() const;

  /// Raises NotFoundError if the method lacks test cases, InvalidArgumentError if `index` is out of
  /// range.
  bundled_program::TestCase test_case(const std::string& method, size_t index) const;

 private:
  pybind11::bytes bytes_;
  std::optional<bundled_program::Bundle> bundle_;
};

/// Sets the method's inputs to those of a test case.
void load_bundled_input(LoadedModule& module, const BundledModule& bundle,
                        const std::string& method, size_t index);

/// Runs the method on a test case and returns its outputs. Raises InvalidArgumentError if an output
/// differs by more than atol + rtol * |expected|.
pybind11::list verify_bundled_case(LoadedModule& module, const BundledModule& bundle,
                                   const std::string& method, size_t index, double rtol,
                                   double atol);

/// Binds BundledModule.
void bind_bundled_module(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
