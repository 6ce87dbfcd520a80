// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

Result<const TensorLayout> TensorLayout::create(Span<const int32_t> sizes,
                                                Span<const uint8_t> dim_order,
                                                executorch::aten::ScalarType scalar_type) {
  ET_CHECK_OR_RETURN_ERROR(dim_order.size() == sizes.size(), InvalidArgument,
                           "%zu sizes and a dim order of %zu", sizes.size(), dim_order.size());
  ET_CHECK_OR_RETURN_ERROR(executorch::runtime::validate_dim_order(dim_order.data(), sizes.size()),
                           InvalidArgument, "dim order not a permutation, or rank %zu exceeds %zu",
                           sizes.size(), executorch::runtime::kTensorDimensionLimit);
  ET_CHECK_OR_RETURN_ERROR(isValid(scalar_type), InvalidArgument, "no scalar type has number %d",
                           static_cast<int>(scalar_type));
  size_t nbytes = elementSize(scalar_type);
  for (const int32_t size : sizes) {
    ET_CHECK_OR_RETURN_ERROR(
        size >= 0 &&
            !executorch::runtime::mul_overflows(nbytes, static_cast<size_t>(size), &nbytes),
        InvalidArgument, "a negative size, or too many bytes to count (at size %" PRId32 ")", size);
  }
  return TensorLayout(sizes, dim_order, scalar_type, nbytes);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
