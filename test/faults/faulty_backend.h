// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

#include <executorch/runtime/core/error.h>

namespace executorch::testing {

/// Registers a copy of a backend with fault points in init and execute, under its name with
/// "Faulty" in front.
runtime::Error register_faulty_backend(const char* name);

/// Writes a copy of a program file in `folder` whose delegates are of these backends; returns its
/// path.
std::string with_faulty_delegates(const std::string& path, const std::string& folder);

}  // namespace executorch::testing
