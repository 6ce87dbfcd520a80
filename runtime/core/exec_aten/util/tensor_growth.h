// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory of tensors with unbounded sizes, for both tensor types.
#pragma once

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/portable_type/tensor_growth.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

#ifdef USE_ATEN_LIB

/// The allocator of a growing tensor's storage, so that ATen's kernels resize it like any tensor.
/// An outgrown block is kept until release(), because callers may read at its address during the
/// execution.
class TensorGrowth final : public c10::Allocator {
 public:
  static constexpr size_t kAlignment = 64;

  /// Null until the tensor is created.
  at::TensorImpl* tensor;

  /// ATen calls this to resize the tensor. Throws c10::Error if the dynamic allocator has too
  /// little memory.
  c10::DataPtr allocate(size_t bytes) override;
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  /// Reserves `bytes`, with slack from the second call on, and keeps the elements.
  /// MemoryAllocationFailed if the allocator fails.
  Error reserve(size_t bytes);
  /// Frees all memory; the tensor is empty then.
  static void release(TensorGrowth& growth);

 private:
  friend at::Tensor make_growing_tensor(at::ScalarType type, Span<const int32_t> sizes,
                                        Span<const uint8_t> dim_order,
                                        executorch::runtime::DynamicAllocator* allocator,
                                        TensorGrowth* growth);

  c10::DataPtr allocate_block(size_t bytes);
  void make_empty(at::IntArrayRef sizes);
  static void outgrow(void* block);

  executorch::runtime::DynamicAllocator* allocator_;
  /// The last outgrown block, which links to the one before.
  void* outgrown_ = nullptr;
  /// Encodes the tensor's dim order while it is empty.
  int64_t empty_strides_[executorch::runtime::kTensorDimensionLimit];
};

/// A tensor without elements that takes memory from `allocator` when it is resized. One of `sizes`
/// is 0. `growth` must outlive it.
at::Tensor make_growing_tensor(at::ScalarType type, Span<const int32_t> sizes,
                               Span<const uint8_t> dim_order,
                               executorch::runtime::DynamicAllocator* allocator,
                               TensorGrowth* growth);

/// Null for a tensor that does not grow.
TensorGrowth* growth_of(const at::Tensor& tensor);

#else

using executorch::runtime::internal::TensorGrowth;

inline TensorGrowth* growth_of(const executorch::aten::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->growth();
}

#endif

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
