// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks and helpers on tensors for kernels and the executor. Predicates log their finding before
// they return false, so that kernels need no message of their own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <initializer_list>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/span.h>

/// In a kernel: `context.fail(Error::<error>)` and `return retval` unless `cond`, after a log
/// message that says what failed.
#define ET_KERNEL_CHECK(context, cond, error, retval) \
  ET_KERNEL_CHECK_MSG(context, cond, error, retval, "check failed")

/// The same with a message: ET_KERNEL_CHECK_MSG(ctx, cond, error, retval, format, ...).
#define ET_KERNEL_CHECK_MSG(context, cond, error, retval, message, ...) \
  do {                                                                  \
    if (ET_UNLIKELY(!(cond))) {                                         \
      ET_LOG(Error, "%s: " message, #cond, ##__VA_ARGS__);              \
      (context).fail(::executorch::runtime::Error::error);              \
      return retval;                                                    \
    }                                                                   \
  } while (0)

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Changes the sizes of `tensor` (same rank) within its capacity, and with them its strides, which
/// keep the dim order. The data stays. Errors as TensorImpl::resize_contiguous(), plus
/// InvalidArgument for a size that does not fit the tensor's size type.
[[nodiscard]] Error resize_tensor(executorch::aten::Tensor tensor,
                                  executorch::aten::ArrayRef<executorch::aten::SizesType> sizes);
#ifndef USE_ATEN_LIB
[[nodiscard]] Error resize_tensor(executorch::aten::Tensor tensor,
                                  executorch::aten::ArrayRef<int64_t> sizes);
#endif
/// Takes a braced list of sizes, `{}` too.
[[nodiscard]] inline Error resize_tensor(executorch::aten::Tensor tensor,
                                         std::initializer_list<executorch::aten::SizesType> sizes) {
  return resize_tensor(
      tensor, executorch::aten::ArrayRef<executorch::aten::SizesType>(sizes.begin(), sizes.size()));
}

// Negative dimensions count from the end; a tensor of rank 0 is treated as one of rank 1, as ATen
// does.

/// True if `dim` is in [-max(rank, 1), max(rank, 1)).
bool dim_is_valid(int64_t dim, int64_t rank);
/// `dim` counted from the front; `dim` must be valid.
inline int64_t normalize_dim(int64_t dim, int64_t rank) {
  return dim >= 0 ? dim : dim + (rank > 0 ? rank : 1);
}
bool tensor_has_dim(executorch::aten::Tensor tensor, int64_t dim);
inline ssize_t nonzero_dim(const executorch::aten::Tensor& tensor) {
  return tensor.dim() == 0 ? 1 : tensor.dim();
}
/// The size of a (non-negative, valid) dimension; 1 for rank 0.
inline ssize_t nonempty_size(const executorch::aten::Tensor& tensor, ssize_t dim) {
  return tensor.dim() == 0 ? 1 : static_cast<ssize_t>(tensor.sizes()[static_cast<size_t>(dim)]);
}

bool tensor_is_rank(executorch::aten::Tensor tensor, size_t rank);
bool tensor_has_rank_greater_or_equal_to(executorch::aten::Tensor tensor, size_t rank);
bool tensor_has_rank_smaller_or_equal_to(executorch::aten::Tensor tensor, size_t rank);
bool tensor_is_type(executorch::aten::Tensor tensor, executorch::aten::ScalarType type);
bool tensor_is_scalar(executorch::aten::Tensor tensor);

bool tensors_have_same_dtype(executorch::aten::Tensor a, executorch::aten::Tensor b);
bool tensors_have_same_dtype(executorch::aten::Tensor a, executorch::aten::Tensor b,
                             executorch::aten::Tensor c);
bool tensors_have_same_rank(executorch::aten::Tensor a, executorch::aten::Tensor b);
/// Tensors of one element have the same shape, whatever their ranks.
bool tensors_have_same_shape(executorch::aten::Tensor a, executorch::aten::Tensor b);
bool tensors_have_same_shape(executorch::aten::Tensor a, executorch::aten::Tensor b,
                             executorch::aten::Tensor c);
bool tensors_have_same_shape_and_dtype(executorch::aten::Tensor a, executorch::aten::Tensor b);
bool tensors_have_same_shape_and_dtype(executorch::aten::Tensor a, executorch::aten::Tensor b,
                                       executorch::aten::Tensor c);
bool tensors_have_same_strides(executorch::aten::Tensor a, executorch::aten::Tensor b);
/// Compares dimension dim_a of a with dimension dim_b of b.
bool tensors_have_same_size_at_dims(executorch::aten::Tensor a, size_t dim_a,
                                    executorch::aten::Tensor b, size_t dim_b);

/// True if the elements lie in row-major order without gaps (by sizes and strides; a dimension of
/// size 1 may have any stride).
bool tensor_is_contiguous(executorch::aten::Tensor tensor);

/// False for a tensor whose sizes are fixed: a portable one that is static.
bool may_resize(const executorch::aten::Tensor& tensor);

/// Writes the tensor's dim order (the default one if it was made without any) into `out_dim_order`,
/// which has `size` elements. InvalidArgument unless `size` is the rank.
[[nodiscard]] Error get_dim_order(const executorch::aten::Tensor& tensor,
                                  executorch::aten::DimOrderType* out_dim_order, size_t size);
bool tensor_has_valid_dim_order(executorch::aten::Tensor tensor);
bool tensor_is_default_dim_order(executorch::aten::Tensor tensor);
bool tensor_is_channels_last_dim_order(executorch::aten::Tensor tensor);
bool tensor_is_default_or_channels_last_dim_order(executorch::aten::Tensor tensor);
/// True if all have one dim order, or if both dim orders describe the same layout (for example
/// contiguous and channels-last with one channel).
bool tensors_have_same_dim_order(executorch::aten::ArrayRef<executorch::aten::Tensor> tensor_list);
inline bool tensors_have_same_dim_order(const executorch::aten::Tensor& a,
                                        const executorch::aten::Tensor& b) {
  const executorch::aten::Tensor list[] = {a, b};
  return tensors_have_same_dim_order(list);
}
inline bool tensors_have_same_dim_order(const executorch::aten::Tensor& a,
                                        const executorch::aten::Tensor& b,
                                        const executorch::aten::Tensor& c) {
  const executorch::aten::Tensor list[] = {a, b, c};
  return tensors_have_same_dim_order(list);
}

/// Product of the sizes before `dim` (0 <= dim <= rank), and of those after it (0 <= dim < rank, or
/// -1 for all). The products fit, because numel() does, unless another size is 0; they are then
/// capped.
size_t getLeadingDims(const executorch::aten::Tensor& tensor, int64_t dim);
size_t getTrailingDims(const executorch::aten::Tensor& tensor, int64_t dim);

namespace internal {

/// Returns whether the tensor's sizes are unbounded and resizing allocates its memory, so that no
/// other tensor may alias it.
bool has_growing_memory(const executorch::aten::Tensor& tensor);

/// The largest number of bytes that the tensor may take when it is resized.
size_t capacity_bytes(const executorch::aten::Tensor& tensor);

/// Makes `to` use the memory of `from`; InvalidArgument unless both have the same number of bytes.
[[nodiscard]] Error share_tensor_data(const executorch::aten::Tensor& to,
                                      const executorch::aten::Tensor& from);
/// Copies the bytes; InvalidArgument unless both have memory and the same number of bytes.
[[nodiscard]] Error copy_tensor_data(const executorch::aten::Tensor& to,
                                     const executorch::aten::Tensor& from);
/// Makes `tensor` use `buffer`, which must outlive that use; InvalidArgument if it is too small.
[[nodiscard]] Error set_tensor_data(const executorch::aten::Tensor& tensor, void* buffer,
                                    size_t buffer_size);
/// Detaches the memory, which stays allocated.
void reset_data_ptr(const executorch::aten::Tensor& tensor);

}  // namespace internal

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
