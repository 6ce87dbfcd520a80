// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include <executorch/extension/pybindings/program/loaded_program.h>

namespace executorch::extension::pybindings {

/// The Python class MethodMeta: metadata of a method, which need not be loaded.
struct MethodDescription {
  std::shared_ptr<LoadedProgram> program;
  runtime::MethodMeta meta;
};

MethodDescription describe_method(std::shared_ptr<LoadedProgram> program, const std::string& name);

void bind_metadata(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
