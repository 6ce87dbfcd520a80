// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch::extension::pybindings {

/// Seals the types that the module has by now: no Python code gets an object of theirs whose C++
/// value was not made, or is of another type. `T.__new__(T)`, subclasses of types with a
/// constructor, assignments to `__class__` and to the types' attributes raise TypeError.
void seal_types(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
