// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The library of operators that the engine lacks: XNNPACK, or none (EXECUTORCH_XNNPACK_LIBRARY).
#pragma once

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// False in a build without XNNPACK.
bool has_library();

/// Starts the library at the first call; false if it cannot run on this machine.
bool start_library();

/// Identifies the library, and the processor's features that its packed weights depend on.
Digest library_digest();

/// True if an allocation of the library failed on this thread since forget_shortage(). Operators
/// that it created or ran since then must not be used.
bool has_run_out();
void forget_shortage();

}  // namespace executorch::backends::xnnpack
