// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pthreadpool.h>

#include <executorch/backends/xnnpack/runtime/weights_session.h>
#include <executorch/backends/xnnpack/runtime/workspace.h>

namespace executorch::backends::xnnpack {

/// Options of a runner of payloads' graphs.
struct GraphOptions {
  /// May be null: packed weights are then the operators' own.
  WeightsSession* weights = nullptr;
  Workspace* workspace = nullptr;
  /// May be null: everything runs on the calling thread.
  pthreadpool_t threads = nullptr;
  /// Measure the operators' times.
  bool is_profiled = false;
};

}  // namespace executorch::backends::xnnpack
