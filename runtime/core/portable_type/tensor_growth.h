// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The memory of a tensor whose sizes have no bound (TensorShapeDynamism::DYNAMIC_UNBOUND): it comes
// from an allocator when the tensor is resized.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/compiler.h>

// Defined where unbounded tensors are linked in. The target `executorch` does; a runtime without
// them refuses programs that have some.
extern "C" {
extern const int executorch_link_unbounded_tensors ET_WEAK;
}

namespace executorch::runtime::etensor {
class TensorImpl;
}  // namespace executorch::runtime::etensor

namespace executorch::runtime::internal {

/// Whether this program has the code; without it, none of the functions marked weak may be called.
inline bool unbounded_tensors_are_linked() { return &executorch_link_unbounded_tensors != nullptr; }

/// What a growing tensor has instead of an array of sizes: its TensorImpl's sizes are `sizes`.
/// A block that is outgrown is kept until release(), so that whoever has read the tensor's address
/// within an execution may go on reading there.
struct TensorGrowth {
  static constexpr size_t kAlignment = 64;

  DynamicAllocator* allocator = nullptr;
  /// Null: the tensor has not been made yet.
  etensor::TensorImpl* tensor = nullptr;
  /// The last outgrown block; its first bytes have the address of the one before.
  void* outgrown = nullptr;
  int32_t sizes[kTensorDimensionLimit] = {};

  /// Room for `numel` elements, and somewhat more from the second time on; the tensor's elements
  /// are kept.
  /// @retval Error::MemoryAllocationFailed The allocator has not as much.
  [[nodiscard]] ET_WEAK Error grow(size_t numel);
  /// Gives all memory back; the tensor is empty then.
  ET_WEAK void release();
};

/// Releases those that have been made.
ET_WEAK void release_all(Span<TensorGrowth> growths);

}  // namespace executorch::runtime::internal
