// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What the event of a kernel's call is called.
#pragma once

#include <executorch/runtime/executor/operator_text.h>

namespace executorch::runtime::internal {

constexpr size_t kEventNameSize = kOperatorTextSize + 12;

/// Writes "native_call_add.out" for a call of aten::add.out; "native_call_" if it has no name.
inline void write_event_name(const executorch_flatbuffer::ExecutionPlan& plan, size_t instruction,
                             char (&out)[kEventNameSize]) {
  constexpr char kPrefix[] = "native_call_";
  memcpy(out, kPrefix, sizeof(kPrefix));
  const auto* call = plan.chains()
                         ->Get(0)
                         ->instructions()
                         ->Get(static_cast<uint32_t>(instruction))
                         ->instr_args_as_KernelCall();
  char name[kOperatorTextSize];
  if (write_operator_text(*plan.operators()->Get(static_cast<uint32_t>(call->op_index())), name) !=
      Error::Ok) {
    return;
  }
  const char* colons = strstr(name, "::");
  const char* bare = colons == nullptr ? name : colons + 2;
  memcpy(out + sizeof(kPrefix) - 1, bare, strlen(bare) + 1);
}

}  // namespace executorch::runtime::internal
