// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory effects: what each instruction of a method reads and writes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/executor/plan/method_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Access to positions [begin, end) of a space: values (by index; their references and sizes),
/// data of tensors (by value), delegates (by index), or bytes of a planned buffer.
struct MemoryEffect {
  uint32_t space;
  uint64_t begin;
  uint64_t end;
  uint32_t instruction;
  bool is_written;
};

/// Collects all effects of a loaded method. A view touches its source's data and place. Returns
/// false if the method moves tensors, because their data is then unknown, or if a tensor is a view
/// of tensors in several planned buffers.
///
/// The backend reports which arguments a delegate writes. Without a report, arguments that have a
/// value before the call count as read, all others as written.
bool collect_memory_effects(const executorch_flatbuffer::ExecutionPlan& plan,
                            const MethodBlock& block, std::vector<MemoryEffect>* effects);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
