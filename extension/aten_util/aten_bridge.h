// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Portable tensors and at::Tensors that share memory, for programs in portable mode that also use
// PyTorch. In ATen mode tensors are at::Tensors already.
//
// Passing tensors that do not match is a programming error and aborts.
#pragma once

#ifdef USE_ATEN_LIB
#error "aten_bridge.h is for portable tensors: in ATen mode tensors are at::Tensors already"
#endif

#include <ATen/Functions.h>
#include <ATen/Tensor.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::extension {

// Both enumerations have the same values.

inline runtime::etensor::ScalarType torch_to_executorch_scalar_type(caffe2::TypeMeta type) {
  return static_cast<runtime::etensor::ScalarType>(c10::typeMetaToScalarType(type));
}
inline c10::ScalarType executorch_to_torch_scalar_type(runtime::etensor::ScalarType type) {
  return static_cast<c10::ScalarType>(type);
}

namespace internal {

inline void check_same_layout(const at::Tensor& at, const runtime::etensor::Tensor& et) {
  ET_CHECK_MSG(at.device().is_cpu(), "an at::Tensor is not on the CPU");
  ET_CHECK_MSG(torch_to_executorch_scalar_type(at.dtype()) == et.scalar_type(),
               "the at::Tensor has dtype %d, the portable tensor %d",
               static_cast<int>(at.scalar_type()), static_cast<int>(et.scalar_type()));
  ET_CHECK_MSG(at.dim() == et.dim() && et.strides().size() == et.sizes().size(),
               "an at::Tensor of rank %d, and a portable tensor of rank %d with %zu strides",
               static_cast<int>(at.dim()), static_cast<int>(et.dim()), et.strides().size());
  for (int64_t i = 0; i < at.dim(); ++i) {
    const auto dim = static_cast<size_t>(i);
    ET_CHECK_MSG(
        at.size(i) == et.sizes()[dim] && (at.size(i) <= 1 || at.stride(i) == et.strides()[dim]),
        "sizes or strides of dimension %zu differ", dim);
  }
}

}  // namespace internal

/// Makes `et` use the memory of `at`, which must outlive that use. Dtypes, sizes and strides must
/// be equal.
inline void alias_etensor_to_attensor(at::Tensor& at, runtime::etensor::Tensor& et) {
  internal::check_same_layout(at, et);
  et.set_data(at.mutable_data_ptr());
}

/// Returns a view of the memory of `et`, which must outlive it.
inline at::Tensor alias_attensor_to_etensor(const runtime::etensor::Tensor& et) {
  const std::vector<int64_t> sizes(et.sizes().begin(), et.sizes().end());
  const std::vector<int64_t> strides(et.strides().begin(), et.strides().end());
  const at::TensorOptions options(executorch_to_torch_scalar_type(et.scalar_type()));
  return strides.size() == sizes.size()
             ? at::from_blob(et.mutable_data_ptr(), sizes, strides, options)
             : at::from_blob(et.mutable_data_ptr(), sizes, options);
}

/// Returns a portable tensor that shares and owns the memory of `at`, which must be dense.
inline TensorPtr alias_tensor_ptr_to_attensor(at::Tensor& at) {
  ET_CHECK_MSG(at.device().is_cpu(), "an at::Tensor is not on the CPU");
  ET_CHECK_MSG(at.is_non_overlapping_and_dense(), "an at::Tensor is not dense");
  return make_tensor_ptr({at.sizes().begin(), at.sizes().end()}, at.mutable_data_ptr(), {},
                         {at.strides().begin(), at.strides().end()},
                         torch_to_executorch_scalar_type(at.dtype()),
                         aten::TensorShapeDynamism::DYNAMIC_BOUND, [at](void*) {});
}

}  // namespace executorch::extension

// Documented ExecuTorch names.
namespace torch::executor::util {
using ::executorch::extension::alias_attensor_to_etensor;
using ::executorch::extension::alias_etensor_to_attensor;

inline ::executorch::runtime::etensor::ScalarType torchToExecuTorchScalarType(
    caffe2::TypeMeta type) {
  return ::executorch::extension::torch_to_executorch_scalar_type(type);
}
inline c10::ScalarType execuTorchtoTorchScalarType(
    ::executorch::runtime::etensor::ScalarType type) {
  return ::executorch::extension::executorch_to_torch_scalar_type(type);
}
}  // namespace torch::executor::util
namespace torch::util {
using ::torch::executor::util::alias_attensor_to_etensor;
using ::torch::executor::util::alias_etensor_to_attensor;
using ::torch::executor::util::execuTorchtoTorchScalarType;
using ::torch::executor::util::torchToExecuTorchScalarType;
}  // namespace torch::util
