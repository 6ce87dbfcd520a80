// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Context for setting or reading a backend's options; currently empty.
class BackendOptionContext final {};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::BackendOptionContext;
}  // namespace torch::executor
