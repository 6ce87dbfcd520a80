// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runner of payloads' graphs in this build: the CMake option EXECUTORCH_XNNPACK_EXECUTOR
// chooses it.
#pragma once

#ifdef EXECUTORCH_XNNPACK_EXECUTOR
#include <executorch/backends/xnnpack/runtime/execution/executor.h>
#else
#include <executorch/backends/xnnpack/runtime/execution/subgraph_runner.h>
#endif

namespace executorch::backends::xnnpack {

#ifdef EXECUTORCH_XNNPACK_EXECUTOR
using GraphRunner = Executor;
#else
using GraphRunner = SubgraphRunner;
#endif

}  // namespace executorch::backends::xnnpack
