// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The memory of a tensor whose sizes have no bound (TensorShapeDynamism::DYNAMIC_UNBOUND): it comes
// from an allocator when the tensor is resized.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch::runtime::etensor {
class TensorImpl;
}  // namespace executorch::runtime::etensor

namespace executorch::runtime::internal {

/// What a growing tensor has instead of an array of sizes: its TensorImpl's sizes are `sizes`.
/// A block that is outgrown is kept until release(), so that whoever has read the tensor's address
/// within an execution may go on reading there.
struct TensorGrowth {
  static constexpr size_t kAlignment = 64;

  // Pointers, so that a runtime that never makes such tensors does not link the functions.
  /// Room for `numel` elements, and somewhat more from the second time on; the tensor's elements
  /// are kept. MemoryAllocationFailed: the allocator has not as much.
  Error (*grow)(TensorGrowth& growth, size_t numel);
  /// Gives all memory back; the tensor is empty then.
  void (*release)(TensorGrowth& growth);

  DynamicAllocator* allocator;
  /// Null: the tensor has not been made yet.
  etensor::TensorImpl* tensor;
  /// The last outgrown block; its first bytes have the address of the one before.
  void* outgrown;
  int32_t sizes[kTensorDimensionLimit];
};

/// Makes resizing the tensor take memory from `allocator`. It must be dynamic, without memory, and
/// its sizes must be growth->sizes.
void make_growing(etensor::TensorImpl& tensor, DynamicAllocator* allocator, TensorGrowth* growth);

}  // namespace executorch::runtime::internal
