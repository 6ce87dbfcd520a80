// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory functions for portable tensors; tensor_memory_aten.cpp has those for at::Tensor.
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <string.h>

#ifndef USE_ATEN_LIB

namespace executorch::runtime {

using etensor::Tensor;
using etensor::TensorImpl;

Error resize_tensor(Tensor tensor, ArrayRef<TensorImpl::SizesType> sizes) {
  return tensor.unsafeGetTensorImpl()->resize_contiguous(sizes);
}

Error resize_tensor(Tensor tensor, ArrayRef<int64_t> sizes) {
  TensorImpl::SizesType narrow[kTensorDimensionLimit];
  ET_CHECK_OR_RETURN_ERROR(sizes.size() <= kTensorDimensionLimit, NotSupported,
                           "a tensor resized to rank %zu, at most %zu is supported", sizes.size(),
                           kTensorDimensionLimit);
  for (size_t i = 0; i < sizes.size(); ++i) {
    narrow[i] = static_cast<TensorImpl::SizesType>(sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(narrow[i] == sizes[i], InvalidArgument,
                             "size %" PRId64 " at dimension %zu does not fit 32 bits", sizes[i], i);
  }
  return resize_tensor(tensor, ArrayRef<TensorImpl::SizesType>(narrow, sizes.size()));
}

Error get_dim_order(const Tensor& tensor, TensorImpl::DimOrderType* out_dim_order, size_t size) {
  const TensorImpl::DimOrderType* const order = tensor.dim_order().data();
  ET_CHECK_OR_RETURN_ERROR(size == static_cast<size_t>(tensor.dim()), InvalidArgument,
                           "room for a dim order of %zu, the tensor's has %zu", size,
                           static_cast<size_t>(tensor.dim()));
  for (size_t i = 0; i < size; ++i) {
    out_dim_order[i] = order != nullptr ? order[i] : static_cast<TensorImpl::DimOrderType>(i);
  }
  return Error::Ok;
}

bool may_resize(const Tensor& tensor) {
  return tensor.shape_dynamism() != TensorShapeDynamism::STATIC;
}

namespace internal {

bool has_growing_memory(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->growth() != nullptr;
}

size_t capacity_bytes(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->numel_capacity() * elementSize(tensor.scalar_type());
}

Error set_tensor_data(const Tensor& tensor, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= tensor.nbytes(), InvalidArgument,
                           "a buffer of %zu bytes for a tensor of %zu", buffer_size,
                           tensor.nbytes());
  ET_CHECK_OR_RETURN_ERROR(!has_growing_memory(tensor), NotSupported,
                           "a tensor without bound has memory of its own");
  tensor.unsafeGetTensorImpl()->set_data(buffer);
  return Error::Ok;
}

void reset_data_ptr(const Tensor& tensor) { tensor.unsafeGetTensorImpl()->set_data(nullptr); }

}  // namespace internal
}  // namespace executorch::runtime

#endif  // USE_ATEN_LIB
