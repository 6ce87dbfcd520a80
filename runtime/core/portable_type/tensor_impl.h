// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/scalar_type.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_shape_dynamism.h>
#include <executorch/runtime/platform/compiler.h>

// printf conversions for the element types of sizes(), dim(), numel() and strides().
#define ET_PRI_TENSOR_SIZE "zd"
#define ET_PRI_TENSOR_DIM "zd"
#define ET_PRI_TENSOR_NUMEL "zd"
#define ET_PRI_SIZES_AND_STRIDES "d"

namespace executorch::runtime::internal {
struct GrowingTensor;
struct TensorGrowth;
}  // namespace executorch::runtime::internal

namespace executorch::runtime::etensor {

/// Metadata and memory of a Tensor. It owns none of its arrays: sizes, dim order, strides and data
/// must outlive it.
class TensorImpl final {
 public:
  using SizesType = int32_t;
  using DimOrderType = uint8_t;
  using StridesType = int32_t;

  TensorImpl() = delete;

  /// `sizes`, `dim_order` and `strides` have `dim` elements each; the latter two may be nullptr
  /// (the tensor then has none to return). The number of elements at construction is the capacity:
  /// a dynamic tensor can be resized up to it. Ends the program unless the arguments are valid: dim
  /// from 0 to 16, no negative size, a number of elements that fits ssize_t (check sizes of a file
  /// with safe_numel()).
  TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data = nullptr,
             DimOrderType* dim_order = nullptr, StridesType* strides = nullptr,
             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC,
             DeviceType device_type = DeviceType::CPU, DeviceIndex device_index = 0);

  /// The bytes that the current sizes take; SIZE_MAX if they do not fit size_t.
  size_t nbytes() const;
  /// Ends the program if `dim` is out of range.
  ssize_t size(ssize_t dim) const {
    ET_CHECK_MSG(dim >= 0 && dim < dim_, "dimension %zd of a tensor of rank %d", dim, dim_);
    return sizes_[dim];
  }
  ssize_t dim() const { return dim_; }
  ssize_t numel() const { return numel_; }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  /// The bytes of one element.
  ssize_t element_size() const;

  ArrayRef<SizesType> sizes() const { return {sizes_, dim_}; }
  ArrayRef<DimOrderType> dim_order() const {
    return {dim_order_, dim_order_ != nullptr ? dim_ : size_t{0}};
  }
  ArrayRef<StridesType> strides() const {
    return {strides_, strides_ != nullptr ? dim_ : size_t{0}};
  }
  TensorShapeDynamism shape_dynamism() const { return shape_dynamism_; }
  Device device() const { return {device_type_, device_index_}; }
  DeviceType device_type() const { return device_type_; }
  DeviceIndex device_index() const { return device_index_; }

  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  const void* data() const { return data_; }
  template <typename T>
  T* mutable_data() const {
    return static_cast<T*>(data_);
  }
  void* mutable_data() const { return data_; }
  /// The new memory must hold the capacity, and outlive its use.
  void set_data(void* data) { data_ = data; }

  /// The largest number of elements that the tensor may be resized to.
  size_t numel_capacity() const { return numel_bound_; }

  /// Sets the sizes, and the strides that follow from them and the dim order; the data stays.
  /// @retval Error::NotSupported Another rank, other sizes of a static tensor, or more elements
  ///     than the capacity of memory that does not grow.
  /// @retval Error::MemoryAllocationFailed Too little memory for a tensor that grows.
  /// @retval Error::InvalidArgument A negative size. On an error the tensor is unchanged.
  [[nodiscard]] Error resize_contiguous(ArrayRef<SizesType> new_sizes);

  /// Growth state of a tensor whose memory grows on resize; such a TensorImpl must not be copied,
  /// nor its memory be set. Null: the memory is fixed.
  executorch::runtime::internal::TensorGrowth* growth() const;

 private:
  friend struct executorch::runtime::internal::GrowingTensor;

  SizesType* sizes_;
  DimOrderType* dim_order_;
  StridesType* strides_;
  void* data_;
  ssize_t numel_;
  size_t numel_bound_;
  uint8_t dim_;
  ScalarType type_;
  TensorShapeDynamism shape_dynamism_;
  DeviceType device_type_;
  DeviceIndex device_index_;
  bool grows_ = false;
};

/// The number of elements; ends the program on a negative size or if it does not fit.
ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim);

/// The number of elements; InvalidArgument on a negative size or if it does not fit ssize_t.
Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim);

/// The number of bytes; InvalidArgument on a negative size, an invalid type, or if it does not fit
/// ssize_t.
Result<size_t> safe_nbytes(ScalarType type, const TensorImpl::SizesType* sizes, ssize_t dim);

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_numel;
using ::executorch::runtime::etensor::TensorImpl;
}  // namespace torch::executor
