// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

namespace executorch::backends::xnnpack {

/// Checks that tables which share constants, scales and lists of numbers do not multiply the
/// payload: creating a delegate then takes time and memory linear in the payload and its named
/// data.
/// @param payload Verified otherwise.
/// @retval Error::InvalidProgram After a log message.
runtime::Error check_shared_parts(const Payload& payload);

}  // namespace executorch::backends::xnnpack
