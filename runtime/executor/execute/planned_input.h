// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/executor/plan/method_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Ends the use of the caller's memory for an input with planned memory: its tensor refers to that
/// again, with the program's sizes, for which it has room.
[[nodiscard]] Error use_planned_memory(Input& input);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
