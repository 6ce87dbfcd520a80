// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Faults as Python exceptions, of the classes in executorch.runtime.errors.
#pragma once

#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::pybindings {

/// Raises the exception for `error` with what the runtime logged in this call. Needs the GIL.
[[noreturn]] void raise_error(runtime::Error error, const std::string& message);

/// The same for a method that does not exist.
[[noreturn]] void raise_method_not_found(const std::string& message);

/// Raises InstructionBudgetError.
[[noreturn]] void raise_budget_used_up(const std::string& message);

/// Raises CancelledError.
[[noreturn]] void raise_cancelled(const std::string& message);

/// Replaces the Python exception that is set by an InvalidArgumentError that is caused by it and
/// tells its first line.
[[noreturn]] void raise_from_python(const std::string& message);

}  // namespace executorch::extension::pybindings
