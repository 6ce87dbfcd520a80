// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// Equal for all processes with the same form of packed weights: the same build on the same kind
/// of processor.
Digest packing_fingerprint();

}  // namespace executorch::backends::xnnpack
