// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <string>

namespace executorch::extension::pybindings {

/// Binds the classes of executorch.extension.llm.runner.
void bind_llm_runner(pybind11::module_& module);

// Bind parts of it.
void bind_config(pybind11::module_& module);
void bind_stats(pybind11::module_& module);
void bind_tokenizer(pybind11::module_& module);
void bind_multimodal_input(pybind11::module_& module);

/// "Class(name=value, …)" of an object and some of its attributes.
std::string repr_of(const pybind11::object& self, std::initializer_list<const char*> attributes);

}  // namespace executorch::extension::pybindings
