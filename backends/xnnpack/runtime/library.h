// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// XNNPACK as a whole: its start, its memory, which build of it on which processor.
#pragma once

#include <executorch/backends/xnnpack/runtime/digest.h>

namespace executorch::backends::xnnpack {

/// Initializes XNNPACK at the first call; false if it cannot run on this machine.
bool start_library();

/// What weights that are packed by one build on one kind of processor have in common.
Digest library_fingerprint();

}  // namespace executorch::backends::xnnpack
