// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>

#ifndef USE_ATEN_LIB

#include <string.h>

#include <new>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {

using etensor::TensorImpl;

Error rebind_tensor(const etensor::Tensor& tensor, ArrayRef<TensorImpl::SizesType> sizes,
                    void* data) {
  TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  ET_CHECK_OR_RETURN_ERROR(impl.growth() == nullptr, NotSupported,
                           "a tensor without bound has memory of its own");
  const auto element = static_cast<uintptr_t>(impl.element_size());
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % element == 0, InvalidArgument,
                           "memory at %p: expected alignment to %zu-byte elements", data,
                           static_cast<size_t>(element));
  if (impl.shape_dynamism() == TensorShapeDynamism::STATIC || impl.dim() == 0) {
    // The sizes cannot change, so the capacity stays right.
    ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(tensor, sizes));
    impl.set_data(data);
    return Error::Ok;
  }
  const auto rank = static_cast<size_t>(impl.dim());
  ET_CHECK_OR_RETURN_ERROR(sizes.size() == rank, NotSupported,
                           "a tensor of rank %zu for sizes of rank %zu", rank, sizes.size());
  // The constructor below ends the program for sizes that cannot be counted.
  ET_CHECK_OK_OR_RETURN_ERROR(safe_nbytes(impl.scalar_type(), sizes.data(), impl.dim()).error());
  TensorImpl::StridesType new_strides[kTensorDimensionLimit];
  ET_CHECK_OK_OR_RETURN_ERROR(
      dim_order_to_stride(sizes.data(), impl.dim_order().data(), rank, new_strides));
  auto* own_sizes = const_cast<TensorImpl::SizesType*>(impl.sizes().data());
  auto* own_strides = const_cast<TensorImpl::StridesType*>(impl.strides().data());
  memmove(own_sizes, sizes.data(), rank * sizeof(*own_sizes));
  memcpy(own_strides, new_strides, rank * sizeof(*own_strides));
  auto* dim_order = const_cast<TensorImpl::DimOrderType*>(impl.dim_order().data());
  new (&impl) TensorImpl(impl.scalar_type(), impl.dim(), own_sizes, data, dim_order, own_strides,
                         impl.shape_dynamism(), impl.device_type(), impl.device_index());
  return Error::Ok;
}

}  // namespace executorch::runtime::internal

#endif  // USE_ATEN_LIB
