// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What each instruction of a method reads and writes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/executor/method_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Positions [begin, end) of a space: values (by index; what they refer to and their sizes), data
/// of tensors (by value), delegates (by index), or a planned buffer's bytes.
struct Touch {
  uint32_t space;
  uint64_t begin;
  uint64_t end;
  uint32_t instruction;
  bool is_written;
};

/// All touches of a loaded method, or false: a tensor is moved, so that what it is is not known.
///
/// What a delegate writes is asked of its backend. If that does not say, an argument counts as read
/// if it has a value before, and as written else.
bool collect_touches(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block,
                     std::vector<Touch>* touches);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
