// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/executor/plan/method_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Undoes Method::bind_input_data(): points the input's tensor to its planned memory again, and
/// resizes it to the program's sizes, for which that memory has room.
[[nodiscard]] Error use_planned_memory(Input& input);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
