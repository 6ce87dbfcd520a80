// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Storage of a method's tensors: at::Tensor in ATen mode, TensorImpl in lean mode.
#pragma once

#include <stddef.h>

#include <optional>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

#ifdef USE_ATEN_LIB

/// Storage of a tensor in a method's memory: at::Tensor is a counted reference.
using TensorSlot = at::Tensor;

/// A tensor that does not own its memory of `bytes` bytes, which are its capacity.
at::Tensor tensor_over_memory(at::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides,
                              void* data, size_t bytes);

inline const at::Tensor& tensor_in(const TensorSlot& slot) { return slot; }

/// Puts a tensor over `bytes` bytes of memory that it does not own into `slot`. The arrays have one
/// element for each dimension; a portable tensor keeps using them.
inline void describe_tensor(at::ScalarType type, size_t rank, int64_t* sizes, uint8_t*,
                            int64_t* strides, void* data, size_t bytes,
                            std::optional<TensorSlot>* slot) {
  slot->emplace(tensor_over_memory(type, {sizes, rank}, {strides, rank}, data, bytes));
}

inline at::Tensor tensor_of(at::TensorImpl* impl) {
  return at::Tensor(
      c10::intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(impl));
}

#else

/// Storage of a tensor in a method's memory: Tensor is a reference to a TensorImpl.
using TensorSlot = executorch::aten::TensorImpl;

inline executorch::aten::Tensor tensor_in(TensorSlot& slot) {
  return executorch::aten::Tensor(&slot);
}

inline void describe_tensor(executorch::aten::ScalarType type, size_t rank,
                            executorch::aten::SizesType* sizes,
                            executorch::aten::DimOrderType* dim_order,
                            executorch::aten::StridesType* strides, void* data, size_t,
                            std::optional<TensorSlot>* slot) {
  slot->emplace(type, static_cast<ssize_t>(rank), sizes, data, dim_order, strides);
}

inline executorch::aten::Tensor tensor_of(executorch::aten::TensorImpl* impl) {
  return executorch::aten::Tensor(impl);
}

#endif

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
