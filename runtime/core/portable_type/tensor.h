// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch::runtime::etensor {

/// A reference to a TensorImpl with the interface of at::Tensor; cheap to copy. It owns nothing:
/// the TensorImpl must outlive it.
class Tensor final {
 public:
  using SizesType = TensorImpl::SizesType;
  using DimOrderType = TensorImpl::DimOrderType;
  using StridesType = TensorImpl::StridesType;

  Tensor() = delete;
  explicit constexpr Tensor(TensorImpl* impl) : impl_(impl) {}

  TensorImpl* unsafeGetTensorImpl() const { return impl_; }

  size_t nbytes() const { return impl_->nbytes(); }
  ssize_t size(ssize_t dim) const { return impl_->size(dim); }
  ssize_t dim() const { return impl_->dim(); }
  ssize_t numel() const { return impl_->numel(); }
  ScalarType scalar_type() const { return impl_->scalar_type(); }
  ScalarType dtype() const { return impl_->scalar_type(); }
  ssize_t element_size() const { return impl_->element_size(); }
  ArrayRef<SizesType> sizes() const { return impl_->sizes(); }
  ArrayRef<DimOrderType> dim_order() const { return impl_->dim_order(); }
  ArrayRef<StridesType> strides() const { return impl_->strides(); }
  TensorShapeDynamism shape_dynamism() const { return impl_->shape_dynamism(); }
  Device device() const { return impl_->device(); }
  DeviceType device_type() const { return impl_->device_type(); }
  DeviceIndex device_index() const { return impl_->device_index(); }

  /// T must be the C++ type of scalar_type(); this is unchecked.
  template <typename T>
  const T* const_data_ptr() const {
    return impl_->data<T>();
  }
  const void* const_data_ptr() const { return impl_->data(); }
  template <typename T>
  T* mutable_data_ptr() const {
    return impl_->mutable_data<T>();
  }
  void* mutable_data_ptr() const { return impl_->mutable_data(); }
  /// Same as mutable_data_ptr().
  template <typename T>
  T* data_ptr() const {
    return impl_->mutable_data<T>();
  }
  void* data_ptr() const { return impl_->mutable_data(); }
  /// See TensorImpl::set_data(). at::Tensor lacks this function, so kernels should not call it.
  void set_data(void* data) const { impl_->set_data(data); }

 private:
  TensorImpl* impl_;
};

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::Tensor;
}  // namespace torch::executor
