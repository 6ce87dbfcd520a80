// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/aten/output_layout.h>

#include <array>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch::kernels {

using runtime::Error;
using runtime::kTensorDimensionLimit;

void OutputLayouts::keep(const at::Tensor& tensor) {
  layouts_.push_back({&tensor,
                      {tensor.sizes().begin(), tensor.sizes().end()},
                      {tensor.strides().begin(), tensor.strides().end()}});
}

void OutputLayouts::keep(const runtime::EValue& output) {
  if (output.isTensor()) {
    keep(output.toTensor());
  } else if (output.isTensorList()) {
    for (const at::Tensor& tensor : output.toTensorList()) {
      keep(tensor);
    }
  }
}

void OutputLayouts::restore_dim_orders() const {
  for (const Layout& layout : layouts_) {
    const at::Tensor& tensor = *layout.tensor;
    const auto rank = static_cast<size_t>(tensor.dim());
    if (tensor.sizes() == layout.sizes || rank != layout.sizes.size() ||
        rank > kTensorDimensionLimit) {
      continue;
    }
    std::array<uint8_t, kTensorDimensionLimit> order;
    std::array<int64_t, kTensorDimensionLimit> strides;
    TORCH_CHECK(
        runtime::stride_to_dim_order(layout.strides.data(), rank, order.data()) == Error::Ok &&
            runtime::dim_order_to_stride(tensor.sizes().data(), order.data(), rank,
                                         strides.data()) == Error::Ok,
        "an output of strides ", c10::IntArrayRef(layout.strides), " has no dim order");
    const c10::IntArrayRef wanted(strides.data(), rank);
    if (tensor.strides() != wanted && tensor.numel() > 0) {
      const at::Tensor elements = tensor.clone();
      tensor.unsafeGetTensorImpl()->set_sizes_and_strides(elements.sizes(), wanted);
      tensor.copy_(elements);
    }
  }
}

void OutputLayouts::undo() const {
  for (const Layout& layout : layouts_) {
    layout.tensor->unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides);
  }
}

}  // namespace executorch::kernels
