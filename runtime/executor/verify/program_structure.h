// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime::internal {

/// Checks that `flatbuffer` (aligned to 8) has the structure of runtime/schema/program.fbs, so that
/// every generated accessor may be called on it.
/// @retval Error::InvalidProgram After a log message with the place of the fault.
Error verify_program_structure(Span<const uint8_t> flatbuffer);

}  // namespace executorch::runtime::internal
