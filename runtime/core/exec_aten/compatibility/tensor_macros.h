// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks for kernels that end the program on wrong arguments (ET_CHECK_…), or return false after a
// log message (ET_LOG_…). Kernels that a program file can reach should use ET_KERNEL_CHECK instead.
#pragma once

#include <algorithm>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/compatibility/tensor_predicates.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/platform/assert.h>

#define ET_TENSOR_CHECK_PREFIX__ "Tensors do not match"
#define ET_MIN2(a, b) (std::min(a, b))
#define ET_MIN3(a, b, c) (std::min(a, std::min(b, c)))

#ifdef USE_ATEN_LIB
// printf conversions for the element types of sizes(), dim(), numel() and strides(); tensor_impl.h
// defines those of portable tensors.
#define ET_PRI_TENSOR_SIZE PRId64
#define ET_PRI_TENSOR_DIM PRId64
#define ET_PRI_TENSOR_NUMEL PRId64
#define ET_PRI_SIZES_AND_STRIDES PRId64
#endif

/// Converts a negative index, which counts from the end.
#define ET_NORMALIZE_IX(index, size) ((index) < 0 ? (index) + (size) : (index))

#define ET_CHECK_VALID_IX(index, size) ET_INTERNAL_CHECK_RANGE("index", index, size)
#define ET_CHECK_VALID_DIM(dim, rank) ET_INTERNAL_CHECK_RANGE("dimension", dim, rank)
#define ET_INTERNAL_CHECK_RANGE(what, index, size)                                           \
  ET_CHECK_MSG(static_cast<int64_t>(index) >= -static_cast<int64_t>(size) &&                 \
                   static_cast<int64_t>(index) < static_cast<int64_t>(size),                 \
               what " %" PRId64 " is out of range of %" PRId64, static_cast<int64_t>(index), \
               static_cast<int64_t>(size))

#define ET_CHECK_NON_ZERO_DIM_SIZE(dim, tensor) \
  ET_CHECK(::executorch::runtime::tensor_has_non_empty_dim(tensor, dim))

// Tensors of one element have the same shape, whatever their rank.
#define ET_CHECK_SAME_SHAPE2(a, b) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape(a, b), ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_SHAPE3(a, b, c) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape(a, b, c), ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_DTYPE2(a, b) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_dtype(a, b), ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_DTYPE3(a, b, c) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_dtype(a, b, c), ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_SHAPE_AND_DTYPE2(a, b)                                   \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape_and_dtype(a, b), \
               ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_SHAPE_AND_DTYPE3(a, b, c)                                   \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape_and_dtype(a, b, c), \
               ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_STRIDES2(a, b) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_strides(a, b), ET_TENSOR_CHECK_PREFIX__)
#define ET_CHECK_SAME_STRIDES3(a, b, c) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_strides(a, b, c), ET_TENSOR_CHECK_PREFIX__)

#define ET_CHECK_CONTIGUOUS(tensor)                                 \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_contiguous(tensor), \
               "expected a contiguous "                             \
               "tensor")
#define ET_CHECK_DEFAULT_OR_CHANNELSLAST_DIMORDER(tensor)                                   \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_default_or_channels_last_dim_order(tensor), \
               "expected a contiguous or channels-last dim order")

#define ET_LOG_AND_RETURN_IF_FALSE(cond) ET_CHECK_OR_RETURN_FALSE(cond, "is false")
#define ET_LOG_MSG_AND_RETURN_IF_FALSE(cond, message, ...) \
  ET_CHECK_OR_RETURN_FALSE(cond, message, ##__VA_ARGS__)

#define ET_EXTRACT_SCALAR_TENSOR(tensor, out_val)                              \
  ET_CHECK_MSG(::executorch::runtime::extract_scalar_tensor(tensor, &out_val), \
               #tensor " must hold one element of the expected kind and range")
