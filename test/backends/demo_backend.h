// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime half of executorch.exir.backend.test.backend_with_compiler_demo: for tests.
#pragma once

#include <executorch/runtime/core/error.h>

namespace executorch::demo {

/// The id that the ahead-of-time half writes.
constexpr const char* kDemoBackendName = "BackendWithCompilerDemo";

/// Registers the backend; the second call is refused like any second registration.
runtime::Error register_demo_backend();

}  // namespace executorch::demo
