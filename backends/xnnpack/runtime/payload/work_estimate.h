// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

namespace executorch::backends::xnnpack {

/// Whether a payload's nodes are large enough, on average and at the largest sizes, that sharing
/// them between threads gains more than it costs to wake the threads and wait for them.
bool gains_by_threads(const Payload& payload);

}  // namespace executorch::backends::xnnpack
