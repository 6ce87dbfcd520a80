// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

namespace executorch::backends::xnnpack {

/// True if the average node of a payload, at the largest sizes, is large enough that dividing it
/// among threads saves more time than waking them and waiting for them takes.
bool benefits_from_threads(const Payload& payload);

}  // namespace executorch::backends::xnnpack
