// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>

namespace executorch::extension::llm {

/// Loads a method whose inputs may be constants of the program or memory of the runner, and checks
/// that it does not write to them. InvalidProgram if it does.
runtime::Error check_inputs_are_read_only(Module& module, const std::string& method);

}  // namespace executorch::extension::llm
