// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runtime part of the demo backends in executorch.exir.backend.test and in the Python tests
// (test/oracle/demo/demo_backends.py).
#pragma once

#include <executorch/runtime/core/error.h>

namespace executorch::demo {

/// The ids that the ahead-of-time halves write.
constexpr const char* kDemoBackendNames[] = {"BackendWithCompilerDemo", "BackendWithNamedDataMap",
                                             "SharingDemo"};

/// Registers the backend under all their names; a second call fails like any second registration.
runtime::Error register_demo_backend();

}  // namespace executorch::demo
