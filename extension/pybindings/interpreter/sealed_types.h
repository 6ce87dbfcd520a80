// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch::extension::pybindings {

/// Seals the types that the module has so far, so that every object of them has a C++ value of its
/// type: `T.__new__(T)`, subclassing types with a constructor, and assignments to `__class__` or to
/// the types' attributes raise TypeError.
void seal_types(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
