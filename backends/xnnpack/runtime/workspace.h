// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>

#include <xnnpack.h>

#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

struct WorkspaceDeleter {
  void operator()(xnn_workspace_t workspace) const { xnn_release_workspace(workspace); }
};
/// Scratch memory of delegates that never run at the same time.
using Workspace = std::shared_ptr<xnn_workspace>;

/// The workspace of all delegates that are initialized with `owner`, which must be theirs alone: a
/// method runs one delegate at a time, so that its delegates share one, and methods that run at the
/// same time do not. It goes with its last delegate.
/// @retval Error::MemoryAllocationFailed
runtime::Result<Workspace> workspace_of(const void* owner);

}  // namespace executorch::backends::xnnpack
