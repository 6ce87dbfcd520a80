// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Writes a method's outputs: text on stdout, bytes in files.
#pragma once

#include <string>

#include <executorch/extension/executor_runner/options.h>
#include <executorch/runtime/executor/method.h>

namespace executorch::extension::executor_runner {

/// One output a line, with as many of its values as `what` says (not None).
void print_outputs(const runtime::Method& method, PrintOutput what);

/// Writes tensor output i to "<prefix>-<i>.bin", its elements as they lie in memory.
void write_outputs(const runtime::Method& method, const std::string& prefix);

}  // namespace executorch::extension::executor_runner
