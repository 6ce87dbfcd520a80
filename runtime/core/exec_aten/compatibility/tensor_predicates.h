// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Predicates on tensors, and arithmetic with their coordinates, for kernels outside of this
// project. Predicates that return false log the reason.
#pragma once

#include <inttypes.h>
#include <math.h>

#include <limits>
#include <type_traits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/compatibility/forall_types.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace internal {
inline bool expect_dtype(bool as_expected, const char* expected,
                         const executorch::aten::Tensor& tensor) {
  if (!as_expected) {
    ET_LOG(Error, "expected a tensor of %s, found %s", expected, toString(tensor.scalar_type()));
  }
  return as_expected;
}
}  // namespace internal

inline bool tensor_is_type(executorch::aten::Tensor tensor, executorch::aten::ScalarType type1,
                           executorch::aten::ScalarType type2) {
  return tensor.scalar_type() == type1 || tensor_is_type(tensor, type2);
}
inline bool tensor_is_type(executorch::aten::Tensor tensor, executorch::aten::ScalarType type1,
                           executorch::aten::ScalarType type2, executorch::aten::ScalarType type3) {
  return tensor.scalar_type() == type1 || tensor_is_type(tensor, type2, type3);
}
inline bool tensor_is_bool_type(executorch::aten::Tensor tensor) {
  return tensor_is_type(tensor, executorch::aten::ScalarType::Bool);
}
inline bool tensor_is_integral_type(executorch::aten::Tensor tensor, bool includeBool = false) {
  return internal::expect_dtype(isIntegralType(tensor.scalar_type(), includeBool),
                                "an integral dtype", tensor);
}
inline bool tensor_is_floating_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isFloatingType(tensor.scalar_type()), "a floating-point dtype",
                                tensor);
}
inline bool tensor_is_real_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isRealType(tensor.scalar_type()), "a real dtype", tensor);
}
inline bool tensor_is_realh_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isRealHType(tensor.scalar_type()), "a real dtype or Half", tensor);
}
inline bool tensor_is_realhb_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isRealHBType(tensor.scalar_type()), "a real dtype, Half or Bool",
                                tensor);
}
inline bool tensor_is_realhbf16_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isRealHBF16Type(tensor.scalar_type()),
                                "a real dtype, Half or BFloat16", tensor);
}
inline bool tensor_is_realhbbf16_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isRealHBBF16Type(tensor.scalar_type()),
                                "a real dtype, Half, Bool or BFloat16", tensor);
}
inline bool tensor_is_complex_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isComplexType(tensor.scalar_type()), "a complex dtype", tensor);
}
inline bool tensor_is_bits_type(executorch::aten::Tensor tensor) {
  return internal::expect_dtype(isBitsType(tensor.scalar_type()), "a bits dtype", tensor);
}
inline bool tensor_can_cast_to(executorch::aten::Tensor tensor, executorch::aten::ScalarType type) {
  ET_CHECK_OR_RETURN_FALSE(canCast(tensor.scalar_type(), type), "%s cannot be cast to %s",
                           toString(tensor.scalar_type()), toString(type));
  return true;
}

inline bool tensor_has_non_empty_dim(executorch::aten::Tensor tensor, int64_t dim) {
  if (!tensor_has_dim(tensor, dim)) {
    return false;
  }
  const ssize_t size =
      nonempty_size(tensor, static_cast<ssize_t>(normalize_dim(dim, tensor.dim())));
  ET_CHECK_OR_RETURN_FALSE(size != 0, "dimension %" PRId64 " is empty", dim);
  return true;
}
/// Returns whether `index`, from the end if it is negative, is within a dimension, which must
/// exist.
inline bool tensor_dim_has_index(executorch::aten::Tensor tensor, int64_t dim, int64_t index) {
  ET_CHECK(tensor.dim() != 0 && dim_is_valid(dim, tensor.dim()));
  const int64_t size = tensor.size(normalize_dim(dim, tensor.dim()));
  ET_CHECK_OR_RETURN_FALSE(index >= -size && index < size,
                           "index %" PRId64 " of dimension %" PRId64 " of size %" PRId64, index,
                           dim, size);
  return true;
}
inline bool tensor_has_expected_size(
    executorch::aten::Tensor tensor,
    executorch::aten::ArrayRef<executorch::aten::SizesType> expected) {
  ET_CHECK_OR_RETURN_FALSE(tensor.sizes() == expected, "expected sizes %s, found %s",
                           executorch::runtime::tensor_shape_to_c_string(expected).data(),
                           executorch::runtime::tensor_shape_to_c_string(tensor.sizes()).data());
  return true;
}
inline bool tensors_have_same_strides(executorch::aten::Tensor a, executorch::aten::Tensor b,
                                      executorch::aten::Tensor c) {
  return tensors_have_same_strides(a, b) && tensors_have_same_strides(b, c);
}
inline bool tensors_have_same_dim_order(const executorch::aten::Tensor& a,
                                        const executorch::aten::Tensor& b,
                                        const executorch::aten::Tensor& c,
                                        const executorch::aten::Tensor& d) {
  const executorch::aten::Tensor list[] = {a, b, c, d};
  return tensors_have_same_dim_order(list);
}

/// The element's index in a row-major tensor; `coordinate` has one number for each dimension.
inline size_t coordinateToIndex(const executorch::aten::Tensor& tensor, const size_t* coordinate) {
  size_t index = 0;
  for (ssize_t dim = 0; dim < tensor.dim(); ++dim) {
    index = index * static_cast<size_t>(tensor.size(dim)) + coordinate[dim];
  }
  return index;
}
/// The inverse of coordinateToIndex(); `index` is less than numel().
inline void indexToCoordinate(const executorch::aten::Tensor& tensor, size_t index,
                              size_t* coordinate) {
  ET_CHECK_MSG(index < static_cast<size_t>(tensor.numel()), "index %zu of %zd elements", index,
               static_cast<ssize_t>(tensor.numel()));
  for (ssize_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    const size_t size = static_cast<size_t>(tensor.size(dim));
    coordinate[dim] = index % size;
    index /= size;
  }
}
/// Row-major strides, for coordinateToIndexWithTrailingDimsMemo().
inline void memoizeTrailingDims(const executorch::aten::Tensor& tensor,
                                size_t trailing_dims_memo[kTensorDimensionLimit]) {
  size_t stride = 1;
  for (ssize_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    trailing_dims_memo[dim] = stride;
    stride *= static_cast<size_t>(tensor.size(dim));
  }
}
inline size_t coordinateToIndexWithTrailingDimsMemo(
    const executorch::aten::Tensor& tensor, const size_t* coordinate,
    const size_t trailing_dims_memo[kTensorDimensionLimit]) {
  size_t index = 0;
  for (ssize_t dim = 0; dim < tensor.dim(); ++dim) {
    index += coordinate[dim] * trailing_dims_memo[dim];
  }
  return index;
}
inline size_t calculate_linear_index(const executorch::aten::SizesType* coordinate,
                                     const executorch::aten::StridesType* strides, size_t ndim) {
  size_t index = 0;
  for (size_t dim = 0; dim < ndim; ++dim) {
    index += static_cast<size_t>(coordinate[dim]) * static_cast<size_t>(strides[dim]);
  }
  return index;
}

namespace internal {

template <typename From, typename T>
bool extract_element([[maybe_unused]] From element, [[maybe_unused]] T* out_val) {
  if constexpr (std::is_same_v<T, From>) {
    *out_val = element;
    return true;
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<From, bool>) {
    return false;
  } else if constexpr (!std::is_integral_v<T>) {
    const double value = static_cast<double>(element);
    const double limit = static_cast<double>(std::numeric_limits<T>::max());
    *out_val = static_cast<T>(value);
    return !isfinite(value) || (value >= -limit && value <= limit);
  } else if constexpr (std::is_integral_v<From>) {
    *out_val = static_cast<T>(element);
    return static_cast<From>(*out_val) == element && (*out_val < T{0}) == (element < From{0});
  } else {
    return false;
  }
}

}  // namespace internal

/// Reads the only element of a tensor whose dtype is of T's kind (integer, floating point from any
/// real dtype, bool). Returns false, without a log message, for another number of elements, another
/// kind, or a value that does not fit T.
template <typename T>
bool extract_scalar_tensor(executorch::aten::Tensor tensor, T* out_val) {
  if (tensor.numel() != 1) {
    return false;
  }
  switch (tensor.scalar_type()) {
#define ET_INTERNAL_EXTRACT(ctype, name)   \
  case executorch::aten::ScalarType::name: \
    return internal::extract_element(tensor.const_data_ptr<ctype>()[0], out_val);
    ET_FORALL_REALHBBF16_TYPES(ET_INTERNAL_EXTRACT)
#undef ET_INTERNAL_EXTRACT
    default:
      return false;
  }
}

/// Same as resize_tensor(), for sizes of any integer type.
template <typename T,
          typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, int64_t> &&
                                      !std::is_same_v<T, executorch::aten::SizesType>>>
[[nodiscard]] Error resize_tensor(executorch::aten::Tensor tensor,
                                  executorch::aten::ArrayRef<T> new_sizes) {
  ET_CHECK_OR_RETURN_ERROR(new_sizes.size() <= kTensorDimensionLimit, InvalidArgument,
                           "rank %zu is above %zu", new_sizes.size(), kTensorDimensionLimit);
  executorch::aten::SizesType sizes[kTensorDimensionLimit] = {};
  for (size_t i = 0; i < new_sizes.size(); ++i) {
    sizes[i] = static_cast<executorch::aten::SizesType>(new_sizes[i]);
    ET_CHECK_OR_RETURN_ERROR(static_cast<T>(sizes[i]) == new_sizes[i], InvalidArgument,
                             "size %zu does not fit a size's type", i);
  }
  return resize_tensor(
      tensor, executorch::aten::ArrayRef<executorch::aten::SizesType>(sizes, new_sizes.size()));
}
/// resize_tensor(); ends the program on an error.
inline void resize(executorch::aten::Tensor tensor,
                   executorch::aten::ArrayRef<executorch::aten::SizesType> new_sizes) {
  ET_CHECK_MSG(resize_tensor(tensor, new_sizes) == Error::Ok, "the tensor cannot be resized");
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
