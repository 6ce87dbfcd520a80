// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/empty_tensor_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/portable_type/tensor_growth.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <stddef.h>
#include <string.h>

namespace executorch::runtime::etensor {
namespace {

/// True if all sizes are non-negative and their product fits ssize_t, or is at most
/// kEmptyTensorLimit with 1 in place of 0.
bool multiply(const TensorImpl::SizesType* sizes, ssize_t dim, ssize_t* numel) {
  bool empty = false;
  int64_t product = 1;
  for (ssize_t i = 0; i < dim; ++i) {
    const int64_t size = sizes[i];
    if (size < 0 || mul_overflows(product, size == 0 ? 1 : size, &product)) {
      return false;
    }
    empty |= size == 0;
  }
  *numel = empty ? 0 : static_cast<ssize_t>(product);
  return empty ? product <= kEmptyTensorLimit : *numel == product;
}

}  // namespace

Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  ET_CHECK_OR_RETURN_ERROR(dim == 0 || sizes != nullptr, InvalidArgument,
                           "no sizes for a tensor of rank %zd", dim);
  ssize_t numel = 0;
  ET_CHECK_OR_RETURN_ERROR(multiply(sizes, dim, &numel), InvalidArgument,
                           "a size is negative, or the elements are too many to count");
  return numel;
}

Result<size_t> safe_nbytes(ScalarType type, const TensorImpl::SizesType* sizes, ssize_t dim) {
  ET_CHECK_OR_RETURN_ERROR(isValid(type), InvalidArgument, "no scalar type has number %d",
                           static_cast<int>(type));
  ssize_t nbytes = ET_UNWRAP(safe_numel(sizes, dim));
  ET_CHECK_OR_RETURN_ERROR(!mul_overflows(nbytes, static_cast<ssize_t>(elementSize(type)), &nbytes),
                           InvalidArgument, "the bytes of a tensor are too many to count");
  return static_cast<size_t>(nbytes);
}

ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  return *safe_numel(sizes, dim);
}

TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data,
                       DimOrderType* dim_order, StridesType* strides, TensorShapeDynamism dynamism,
                       DeviceType device_type, DeviceIndex device_index)
    : sizes_(sizes),
      dim_order_(dim_order),
      strides_(strides),
      data_(data),
      numel_(0),
      numel_bound_(0),
      dim_(static_cast<uint8_t>(dim)),
      type_(type),
      shape_dynamism_(dynamism),
      device_type_(device_type),
      device_index_(device_index) {
  ET_CHECK_MSG(dim >= 0 && dim <= static_cast<ssize_t>(kTensorDimensionLimit),
               "a tensor of rank %zd", dim);
  ET_CHECK_MSG(isValid(type), "no scalar type has number %d", static_cast<int>(type));
  numel_ = compute_numel(sizes, dim);
  numel_bound_ = static_cast<size_t>(numel_);
}

size_t TensorImpl::nbytes() const {
  size_t nbytes = 0;
  return mul_overflows(static_cast<size_t>(numel_), elementSize(type_), &nbytes) ? SIZE_MAX
                                                                                 : nbytes;
}

ssize_t TensorImpl::element_size() const { return static_cast<ssize_t>(elementSize(type_)); }

executorch::runtime::internal::TensorGrowth* TensorImpl::growth() const {
  using executorch::runtime::internal::TensorGrowth;
  // `sizes_` of a growing tensor are part of its TensorGrowth.
  return !grows_ ? nullptr
                 : reinterpret_cast<TensorGrowth*>(reinterpret_cast<uint8_t*>(sizes_) -
                                                   offsetof(TensorGrowth, sizes));
}

Error TensorImpl::resize_contiguous(ArrayRef<SizesType> new_sizes) {
  ET_CHECK_OR_RETURN_ERROR(new_sizes.size() == dim_, NotSupported,
                           "a tensor of rank %d resized to rank %zu", dim_, new_sizes.size());
  const size_t bytes = dim_ * sizeof(SizesType);
  if (bytes == 0 || memcmp(sizes_, new_sizes.data(), bytes) == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(shape_dynamism_ != TensorShapeDynamism::STATIC, NotSupported,
                           "a static tensor of sizes %s resized to %s",
                           tensor_shape_to_c_string({sizes_, dim_}).data(),
                           tensor_shape_to_c_string({new_sizes.data(), dim_}).data());
  const ssize_t numel = ET_UNWRAP(safe_numel(new_sizes.data(), dim_));
  if (static_cast<size_t>(numel) > numel_bound_) {
    ET_CHECK_OR_RETURN_ERROR(grows_, NotSupported, "a tensor of at most %zu elements resized to %s",
                             numel_bound_,
                             tensor_shape_to_c_string({new_sizes.data(), dim_}).data());
    ET_CHECK_OK_OR_RETURN_ERROR(growth()->grow(*growth(), static_cast<size_t>(numel)));
  }
  if (strides_ != nullptr && dim_order_ != nullptr) {
    StridesType strides[kTensorDimensionLimit];
    ET_CHECK_OK_OR_RETURN_ERROR(dim_order_to_stride(new_sizes.data(), dim_order_, dim_, strides));
    memcpy(strides_, strides, dim_ * sizeof(StridesType));
  }
  memcpy(sizes_, new_sizes.data(), bytes);
  numel_ = numel;
  return Error::Ok;
}

}  // namespace executorch::runtime::etensor
