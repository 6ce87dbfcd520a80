// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <optional>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A tensor, of either kind, over memory that it does not own, with the arrays that describe it.
class BorrowedTensor final {
 public:
  BorrowedTensor() = default;
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;

  /// Makes it a dense tensor over `data`, the layout's bytes, which must outlive its use.
  /// @retval Error::InvalidArgument A stride does not fit.
  [[nodiscard]] Error describe(const TensorLayout& layout, void* data) {
    const size_t rank = layout.sizes().size();
    for (size_t i = 0; i < rank; ++i) {
      sizes_[i] = layout.sizes()[i];
      dim_order_[i] = layout.dim_order()[i];
    }
    ET_CHECK_OK_OR_RETURN_ERROR(
        executorch::runtime::dim_order_to_stride(sizes_, dim_order_, rank, strides_));
    internal::describe_tensor(layout.scalar_type(), rank, sizes_, dim_order_, strides_, data,
                              layout.nbytes(), &tensor_);
    return Error::Ok;
  }

  /// Valid as long as this; describe() comes first.
  executorch::aten::Tensor tensor() { return internal::tensor_in(*tensor_); }

 private:
  executorch::aten::SizesType sizes_[executorch::runtime::kTensorDimensionLimit];
  executorch::aten::DimOrderType dim_order_[executorch::runtime::kTensorDimensionLimit];
  executorch::aten::StridesType strides_[executorch::runtime::kTensorDimensionLimit];
  std::optional<internal::TensorSlot> tensor_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
