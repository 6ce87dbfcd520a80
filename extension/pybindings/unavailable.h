// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Names of the documented interface whose subject this build does not have.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch::extension::pybindings {

/// Adds them to the module. Calling one, with whatever
/// arguments, raises NotSupportedError, which says what is missing.
void bind_unavailable(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
