// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Raises the runtime's errors as the exceptions of executorch.runtime.errors.
#pragma once

#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::pybindings {

/// Raises the exception for `error`; its text includes the messages that the runtime logged in this
/// call. Needs the GIL.
[[noreturn]] void raise_error(runtime::Error error, const std::string& message);

/// The same for a method that does not exist.
[[noreturn]] void raise_method_not_found(const std::string& message);

/// Raises InstructionBudgetError.
[[noreturn]] void raise_budget_used_up(const std::string& message);

/// Raises CancelledError.
[[noreturn]] void raise_cancelled(const std::string& message);

/// Raises an InvalidArgumentError for a path with a NUL character, where the system would end it.
/// Needs the GIL.
void expect_path(const std::string& path);

/// Raises an InvalidArgumentError whose cause is the current Python exception; the text includes
/// the first line of the cause. Rethrows KeyboardInterrupt, SystemExit and
/// other exceptions that do not derive from Exception.
[[noreturn]] void raise_from_python(const std::string& message);

}  // namespace executorch::extension::pybindings
