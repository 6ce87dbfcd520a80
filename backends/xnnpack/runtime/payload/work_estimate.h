// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

namespace executorch::backends::xnnpack {

/// True if the average node of a payload, at the largest sizes, is large enough that distributing
/// it gains more time than waking the threads and waiting for them costs.
bool gains_by_threads(const Payload& payload);

}  // namespace executorch::backends::xnnpack
