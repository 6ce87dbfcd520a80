// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch::extension::pybindings {

/// Binds the classes of executorch.extension.llm.runner.
void bind_llm_runner(pybind11::module_& module);

// Parts of it.
void bind_config(pybind11::module_& module);
void bind_stats(pybind11::module_& module);
void bind_tokenizer(pybind11::module_& module);
void bind_multimodal_input(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
