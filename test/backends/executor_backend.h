// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime half of executorch.exir.backend.test.demos.rpc.executor_backend_preprocess.
#pragma once

#include <executorch/runtime/core/error.h>

namespace executorch::demo {

/// Registers the backend; the second call is refused like any second registration.
runtime::Error register_executor_backend();

}  // namespace executorch::demo
