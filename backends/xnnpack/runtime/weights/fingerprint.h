// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/weights/digest.h>

namespace executorch::backends::xnnpack {

/// The same for all processes whose packed weights have one form: those of one build on one kind of
/// processor.
Digest packing_fingerprint();

}  // namespace executorch::backends::xnnpack
