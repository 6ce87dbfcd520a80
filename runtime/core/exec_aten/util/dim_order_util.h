// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Dim orders: which dimension is the outermost in memory, which the next, ... and the strides that
// follow from them. (0, 1, 2, 3) is contiguous, (0, 2, 3, 1) is channels-last.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/overflow.h>

namespace executorch::runtime {

/// True if `dim_order` is a permutation of 0 .. dims - 1, and dims at most 16.
template <typename DimOrderType>
bool validate_dim_order(const DimOrderType* dim_order, size_t dims) {
  if (dims > kTensorDimensionLimit) {
    return false;
  }
  uint32_t seen = 0;
  for (size_t i = 0; i < dims; ++i) {
    const size_t dim = static_cast<size_t>(dim_order[i]);
    if (dim >= dims || ((seen >> dim) & 1u) != 0) {
      return false;
    }
    seen |= 1u << dim;
  }
  return true;
}

/// True for 0, 1, 2, ...
template <typename DimOrderType>
bool is_contiguous_dim_order(const DimOrderType* dim_order, size_t dims) {
  for (size_t i = 0; i < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) != i) {
      return false;
    }
  }
  return true;
}

/// True for (0, 2, 3, 1) and (0, 2, 3, 4, 1).
template <typename DimOrderType>
bool is_channels_last_dim_order(const DimOrderType* dim_order, size_t dims) {
  if ((dims != 4 && dims != 5) || dim_order[0] != 0 || dim_order[dims - 1] != 1) {
    return false;
  }
  for (size_t i = 1; i + 1 < dims; ++i) {
    if (static_cast<size_t>(dim_order[i]) != i + 1) {
      return false;
    }
  }
  return true;
}

/// Writes the strides, in elements, of a dense tensor of these sizes (none negative) in this dim
/// order, which must be valid. A dimension of size 0 counts as 1. False if a stride does not fit.
template <typename SizesType, typename DimOrderType, typename StridesType>
bool dim_order_to_stride_nocheck(const SizesType* sizes, const DimOrderType* dim_order, size_t dims,
                                 StridesType* strides) {
  StridesType stride = 1;
  bool overflow = false;
  for (size_t i = dims; i-- > 0;) {
    const size_t dim = static_cast<size_t>(dim_order[i]);
    strides[dim] = stride;
    const StridesType size = sizes[dim] == 0 ? 1 : static_cast<StridesType>(sizes[dim]);
    // The product past the outermost dimension is not a stride and may overflow.
    overflow |= i > 0 && mul_overflows(stride, size, &stride);
  }
  return !overflow;
}

/// Like dim_order_to_stride_nocheck(), but checks its arguments: InvalidArgument unless the dim
/// order is a permutation and the strides fit.
template <typename SizesType, typename DimOrderType, typename StridesType>
Error dim_order_to_stride(const SizesType* sizes, const DimOrderType* dim_order, size_t dims,
                          StridesType* strides) {
  ET_CHECK_OR_RETURN_ERROR(validate_dim_order(dim_order, dims), InvalidArgument,
                           "dim order is not a permutation of [0, %zu), or rank exceeds %zu", dims,
                           kTensorDimensionLimit);
  ET_CHECK_OR_RETURN_ERROR(dim_order_to_stride_nocheck(sizes, dim_order, dims, strides),
                           InvalidArgument, "strides of a rank %zu tensor do not fit", dims);
  return Error::Ok;
}

/// Writes the dim order that sorts the strides descending; dimensions of equal stride keep their
/// order. NotSupported if dims is above 16.
template <typename DimOrderType, typename StridesType>
Error stride_to_dim_order(const StridesType* strides, size_t dims, DimOrderType* dim_order) {
  ET_CHECK_OR_RETURN_ERROR(dims <= kTensorDimensionLimit, NotSupported, "rank %zu is above %zu",
                           dims, kTensorDimensionLimit);
  for (size_t i = 0; i < dims; ++i) {
    size_t at = i;
    for (; at > 0 && strides[dim_order[at - 1]] < strides[i]; --at) {
      dim_order[at] = dim_order[at - 1];
    }
    dim_order[at] = static_cast<DimOrderType>(i);
  }
  return Error::Ok;
}

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::dim_order_to_stride;
using ::executorch::runtime::dim_order_to_stride_nocheck;
using ::executorch::runtime::is_channels_last_dim_order;
using ::executorch::runtime::is_contiguous_dim_order;
using ::executorch::runtime::stride_to_dim_order;
}  // namespace torch::executor
