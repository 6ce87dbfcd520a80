// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Documented functions of features that this build lacks.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch::extension::pybindings {

/// Adds them to the module. Calling one, with any arguments, raises a NotSupportedError that names
/// the missing feature.
void bind_unavailable(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
