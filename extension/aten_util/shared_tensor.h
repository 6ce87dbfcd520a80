// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// SharedTensor: a portable Tensor view of an at::Tensor's memory.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch::extension::internal {

/// Owns the view's sizes and strides; cannot move. Throws c10::Error for a tensor on another device
/// than the CPU.
class SharedTensor final {
 public:
  explicit SharedTensor(const at::Tensor& tensor)
      : original_(checked(tensor)),
        // A dim order cannot describe memory with gaps or repeated elements.
        dense_(tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous()),
        sizes_(dense_.sizes().begin(), dense_.sizes().end()),
        strides_(dense_.strides().begin(), dense_.strides().end()),
        dim_order_(sizes_.size()),
        impl_(static_cast<runtime::etensor::ScalarType>(dense_.scalar_type()), dense_.dim(),
              sizes_.data(), dense_.data_ptr(), order(), strides_.data(),
              runtime::TensorShapeDynamism::DYNAMIC_BOUND),
        tensor_(&impl_) {}
  SharedTensor(const SharedTensor&) = delete;
  SharedTensor& operator=(const SharedTensor&) = delete;

  runtime::etensor::Tensor& tensor() { return tensor_; }

  /// Copies sizes and, unless memory is shared, elements of the view to the original.
  void copy_back() {
    std::vector<int64_t> sizes(tensor_.sizes().begin(), tensor_.sizes().end());
    if (original_.sizes() != at::IntArrayRef(sizes)) {
      dense_.resize_(sizes);
      original_.resize_(sizes);
    }
    if (!original_.is_same(dense_)) {
      original_.copy_(dense_);
    }
  }

 private:
  static const at::Tensor& checked(const at::Tensor& tensor) {
    TORCH_CHECK(tensor.device().is_cpu(), "expected a tensor on the CPU, found one on ",
                tensor.device());
    return tensor;
  }

  uint8_t* order() {
    const auto error =
        runtime::stride_to_dim_order(strides_.data(), strides_.size(), dim_order_.data());
    TORCH_CHECK(error == runtime::Error::Ok, "unsupported strides of a tensor of rank ",
                strides_.size());
    return dim_order_.data();
  }

  at::Tensor original_, dense_;
  std::vector<int32_t> sizes_, strides_;
  std::vector<uint8_t> dim_order_;
  runtime::etensor::TensorImpl impl_;
  runtime::etensor::Tensor tensor_;
};

}  // namespace executorch::extension::internal
