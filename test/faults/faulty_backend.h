// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

#include <executorch/runtime/core/error.h>

namespace executorch::testing {

/// Registers a backend that is another one, but for fault points in init and execute: under its
/// name with "Faulty" in front.
runtime::Error register_faulty_backend(const char* name);

/// A copy of a program file in `folder` whose delegates are of these backends; its path.
std::string with_faulty_delegates(const std::string& path, const std::string& folder);

}  // namespace executorch::testing
