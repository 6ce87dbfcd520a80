// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime half of the backends in executorch.exir.backend.test whose payload is the demo's, and
// of those of the Python tests (test/oracle/demo/demo_backends.py).
#pragma once

#include <executorch/runtime/core/error.h>

namespace executorch::demo {

/// The ids that the ahead-of-time halves write.
constexpr const char* kDemoBackendNames[] = {"BackendWithCompilerDemo", "BackendWithNamedDataMap",
                                             "SharingDemo"};

/// Registers the backend under all of them; the second call is refused like any second
/// registration.
runtime::Error register_demo_backend();

}  // namespace executorch::demo
