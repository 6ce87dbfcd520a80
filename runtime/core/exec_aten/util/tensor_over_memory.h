// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How a method keeps its tensors, of either kind.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

#ifdef USE_ATEN_LIB

/// What a tensor takes of a method's memory: at::Tensor is a counted reference.
using TensorSlot = at::Tensor;

/// A tensor that does not own its memory of `bytes` bytes, which are its capacity.
at::Tensor tensor_over_memory(at::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides,
                              void* data, size_t bytes);

inline const at::Tensor& tensor_in(const TensorSlot& slot) { return slot; }

inline at::Tensor tensor_of(at::TensorImpl* impl) {
  return at::Tensor(
      c10::intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(impl));
}

#else

/// What a tensor takes of a method's memory: a Tensor is a reference to this.
using TensorSlot = executorch::aten::TensorImpl;

inline executorch::aten::Tensor tensor_in(TensorSlot& slot) {
  return executorch::aten::Tensor(&slot);
}

inline executorch::aten::Tensor tensor_of(executorch::aten::TensorImpl* impl) {
  return executorch::aten::Tensor(impl);
}

#endif

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
