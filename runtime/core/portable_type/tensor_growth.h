// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory of a tensor with unbounded sizes (TensorShapeDynamism::DYNAMIC_UNBOUND), allocated when
// the tensor is resized.
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

/// Growth state of a tensor; its TensorImpl's sizes point to `sizes`. An outgrown block is kept
/// until release(), so that its address stays readable during the execution.
struct TensorGrowth {
  static constexpr size_t kAlignment = 64;

  // Function pointers, so that a runtime without such tensors does not link the functions. grow()
  // reserves `numel` elements, with slack from the second call on, and keeps the elements.
  // MemoryAllocationFailed if the allocator fails.
  Error (*grow)(TensorGrowth& growth, size_t numel);
  /// Frees all memory; the tensor is empty then.
  void (*release)(TensorGrowth& growth);

  DynamicAllocator* allocator;
  /// Null until the tensor is created.
  etensor::TensorImpl* tensor;
  /// The last outgrown block; its first bytes have the address of the one before.
  void* outgrown;
  int32_t sizes[kTensorDimensionLimit];
};

/// Makes resizing the tensor take memory from `allocator`. It must be dynamic, without memory, and
/// its sizes must be growth->sizes.
void make_growing(etensor::TensorImpl& tensor, DynamicAllocator* allocator, TensorGrowth* growth);

}  // namespace executorch::runtime::internal
