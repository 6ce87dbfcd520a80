// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Dim orders of portable and ATen tensors, and copies between tensors' memories.
#include <string.h>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace {

using executorch::aten::Tensor;
using executorch::runtime::kTensorDimensionLimit;

/// A portable tensor's dim order may be null.
struct DimOrder {
  size_t rank;
  executorch::aten::DimOrderType dims[kTensorDimensionLimit];
  bool known;

  explicit DimOrder(const Tensor& tensor)
      : rank(static_cast<size_t>(tensor.dim())),
        known(rank <= kTensorDimensionLimit && get_dim_order(tensor, dims, rank) == Error::Ok) {}
};

}  // namespace

bool tensor_has_valid_dim_order(Tensor tensor) {
  const DimOrder order(tensor);
  const bool valid = order.known && executorch::runtime::validate_dim_order(order.dims, order.rank);
  if (!valid) {
    ET_LOG(Error, "the dim order of a tensor of rank %zu is not a permutation", order.rank);
  }
  return valid;
}

bool tensor_is_default_dim_order(Tensor tensor) {
  const DimOrder order(tensor);
  return !order.known || executorch::runtime::is_contiguous_dim_order(order.dims, order.rank);
}

bool tensor_is_channels_last_dim_order(Tensor tensor) {
  const DimOrder order(tensor);
  return order.known && executorch::runtime::is_channels_last_dim_order(order.dims, order.rank);
}

bool tensor_is_default_or_channels_last_dim_order(Tensor tensor) {
  const bool is = tensor_is_default_dim_order(tensor) || tensor_is_channels_last_dim_order(tensor);
  if (!is) {
    ET_LOG(Error, "expected a contiguous or channels-last dim order (shape %s)",
           tensor_shape_to_c_string(tensor.sizes()).data());
  }
  return is;
}

namespace {

/// True if both orders list the same dimensions in the same sequence, ignoring those whose size is
/// 1 in both tensors.
bool same_memory_order(const Tensor& a, const Tensor& b) {
  const DimOrder order_a(a);
  const DimOrder order_b(b);
  if (order_a.rank != order_b.rank || !order_a.known || !order_b.known) {
    return false;
  }
  const auto is_one = [&](size_t dim) { return a.sizes()[dim] == 1 && b.sizes()[dim] == 1; };
  size_t at_b = 0;
  for (size_t at_a = 0; at_a < order_a.rank; ++at_a) {
    const size_t dim = order_a.dims[at_a];
    if (is_one(dim)) {
      continue;
    }
    while (at_b < order_b.rank && is_one(order_b.dims[at_b])) {
      ++at_b;
    }
    if (at_b == order_b.rank || order_b.dims[at_b] != dim) {
      return false;
    }
    ++at_b;
  }
  return true;
}

}  // namespace

bool tensors_have_same_dim_order(executorch::aten::ArrayRef<Tensor> tensor_list) {
  for (size_t i = 1; i < tensor_list.size(); ++i) {
    if (!same_memory_order(tensor_list[0], tensor_list[i])) {
      ET_LOG(Error, "expected tensors of one dim order; numbers 0 (shape %s) and %zu (%s) differ",
             tensor_shape_to_c_string(tensor_list[0].sizes()).data(), i,
             tensor_shape_to_c_string(tensor_list[i].sizes()).data());
      return false;
    }
  }
  return true;
}

namespace internal {

Error share_tensor_data(const Tensor& to, const Tensor& from) {
  ET_CHECK_OR_RETURN_ERROR(to.nbytes() == from.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot share the memory of one of %zu",
                           to.nbytes(), from.nbytes());
  return set_tensor_data(to, from.mutable_data_ptr(), from.nbytes());
}

Error copy_tensor_data(const Tensor& to, const Tensor& from) {
  ET_CHECK_OR_RETURN_ERROR(to.nbytes() == from.nbytes(), InvalidArgument,
                           "a tensor of %zu bytes cannot be copied to one of %zu", from.nbytes(),
                           to.nbytes());
  if (to.nbytes() == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(to.const_data_ptr() != nullptr && from.const_data_ptr() != nullptr,
                           InvalidArgument, "a tensor of %zu bytes lacks memory", to.nbytes());
  // Both may be the same memory, when an input is set to itself.
  memmove(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes());
  return Error::Ok;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
