// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Factories of tensors: over existing memory, zeros, a scalar, random numbers.
//
// The functions that allocate return row-major tensors, or ones with the given dense strides;
// `*_like` take sizes and memory order from `other` and, for the type Undefined, its type too.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>

namespace executorch::extension {

inline constexpr aten::TensorShapeDynamism kDefaultDynamism =
    aten::TensorShapeDynamism::DYNAMIC_BOUND;

namespace internal {

inline std::vector<aten::SizesType> sizes_of(const aten::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}
inline std::vector<aten::StridesType> strides_of(const aten::Tensor& tensor) {
  return {tensor.strides().begin(), tensor.strides().end()};
}
inline aten::ScalarType resolve_type(aten::ScalarType type, const aten::Tensor& tensor) {
  return type == aten::ScalarType::Undefined ? tensor.scalar_type() : type;
}

}  // namespace internal

/// Collects the properties of a tensor over existing memory, one call each:
/// `for_blob(data, {2, 3}).dim_order({1, 0}).make_tensor_ptr()`.
class TensorPtrMaker final {
 public:
  TensorPtrMaker(TensorPtrMaker&&) = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) = default;
  TensorPtrMaker(const TensorPtrMaker&) = delete;
  TensorPtrMaker& operator=(const TensorPtrMaker&) = delete;

  TensorPtrMaker&& type(aten::ScalarType type) {
    type_ = type;
    return std::move(*this);
  }
  TensorPtrMaker&& dim_order(std::vector<aten::DimOrderType> dim_order) {
    dim_order_ = std::move(dim_order);
    return std::move(*this);
  }
  TensorPtrMaker&& strides(std::vector<aten::StridesType> strides) {
    strides_ = std::move(strides);
    return std::move(*this);
  }
  TensorPtrMaker&& dynamism(aten::TensorShapeDynamism dynamism) {
    dynamism_ = dynamism;
    return std::move(*this);
  }
  /// Called with the data when the tensor is destroyed.
  TensorPtrMaker&& deleter(std::function<void(void*)>&& deleter) {
    deleter_ = std::move(deleter);
    return std::move(*this);
  }

  TensorPtr make_tensor_ptr() && {
    return ::executorch::extension::make_tensor_ptr(std::move(sizes_), data_, std::move(dim_order_),
                                                    std::move(strides_), type_, dynamism_,
                                                    std::move(deleter_));
  }
  /* implicit */ operator TensorPtr() && { return std::move(*this).make_tensor_ptr(); }

 private:
  friend TensorPtrMaker for_blob(void* data, std::vector<aten::SizesType> sizes,
                                 aten::ScalarType type);

  TensorPtrMaker(void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type)
      : sizes_(std::move(sizes)), data_(data), type_(type) {}

  std::vector<aten::SizesType> sizes_;
  std::vector<aten::StridesType> strides_;
  std::vector<aten::DimOrderType> dim_order_;
  std::function<void(void*)> deleter_;
  void* data_;
  aten::ScalarType type_;
  aten::TensorShapeDynamism dynamism_ = aten::TensorShapeDynamism::DYNAMIC_BOUND;
};

/// Starts a tensor over `data`, which must outlive it unless a deleter is given.
inline TensorPtrMaker for_blob(void* data, std::vector<aten::SizesType> sizes,
                               aten::ScalarType type = aten::ScalarType::Float) {
  return TensorPtrMaker(data, std::move(sizes), type);
}

/// A row-major tensor over `data`, which must outlive it.
inline TensorPtr from_blob(
    void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type).dynamism(dynamism).make_tensor_ptr();
}
inline TensorPtr from_blob(
    void* data, std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
    aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .strides(std::move(strides))
      .dynamism(dynamism)
      .make_tensor_ptr();
}
/// A tensor that passes `data` to `deleter` when it is destroyed.
inline TensorPtr from_blob(
    void* data, std::vector<aten::SizesType> sizes, aten::ScalarType type,
    std::function<void(void*)>&& deleter,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .deleter(std::move(deleter))
      .dynamism(dynamism)
      .make_tensor_ptr();
}
inline TensorPtr from_blob(
    void* data, std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
    aten::ScalarType type, std::function<void(void*)>&& deleter,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return for_blob(data, std::move(sizes), type)
      .strides(std::move(strides))
      .deleter(std::move(deleter))
      .dynamism(dynamism)
      .make_tensor_ptr();
}

/// Uninitialized tensors.
TensorPtr empty_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = kDefaultDynamism);

inline TensorPtr empty(std::vector<aten::SizesType> sizes,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return empty_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr empty_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return empty_strided(internal::sizes_of(*other), internal::strides_of(*other),
                       internal::resolve_type(type, *other), dynamism);
}

/// Every element is `fill_value`, converted to `type`.
TensorPtr full_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::Scalar fill_value, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = kDefaultDynamism);

inline TensorPtr full(std::vector<aten::SizesType> sizes, aten::Scalar fill_value,
                      aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_strided(std::move(sizes), {}, fill_value, type, dynamism);
}
inline TensorPtr full_like(const TensorPtr& other, aten::Scalar fill_value,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_strided(internal::sizes_of(*other), internal::strides_of(*other), fill_value,
                      internal::resolve_type(type, *other), dynamism);
}

/// One element and no dimensions.
inline TensorPtr scalar_tensor(aten::Scalar value,
                               aten::ScalarType type = aten::ScalarType::Float) {
  return full({}, value, type);
}

inline TensorPtr ones_strided(std::vector<aten::SizesType> sizes,
                              std::vector<aten::StridesType> strides,
                              aten::ScalarType type = aten::ScalarType::Float,
                              aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_strided(std::move(sizes), std::move(strides), 1, type, dynamism);
}
inline TensorPtr ones(std::vector<aten::SizesType> sizes,
                      aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full(std::move(sizes), 1, type, dynamism);
}
inline TensorPtr ones_like(const TensorPtr& other,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_like(other, 1, type, dynamism);
}

inline TensorPtr zeros_strided(std::vector<aten::SizesType> sizes,
                               std::vector<aten::StridesType> strides,
                               aten::ScalarType type = aten::ScalarType::Float,
                               aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_strided(std::move(sizes), std::move(strides), 0, type, dynamism);
}
inline TensorPtr zeros(std::vector<aten::SizesType> sizes,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full(std::move(sizes), 0, type, dynamism);
}
inline TensorPtr zeros_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return full_like(other, 0, type, dynamism);
}

/// Uniform from 0 to 1, rounded to `type`. The random functions draw from a generator that each
/// thread seeds for itself.
TensorPtr rand_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = kDefaultDynamism);

inline TensorPtr rand(std::vector<aten::SizesType> sizes,
                      aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return rand_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr rand_like(const TensorPtr& other,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return rand_strided(internal::sizes_of(*other), internal::strides_of(*other),
                      internal::resolve_type(type, *other), dynamism);
}

/// Normal, of mean 0 and standard deviation 1.
TensorPtr randn_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = kDefaultDynamism);

inline TensorPtr randn(std::vector<aten::SizesType> sizes,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return randn_strided(std::move(sizes), {}, type, dynamism);
}
inline TensorPtr randn_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return randn_strided(internal::sizes_of(*other), internal::strides_of(*other),
                       internal::resolve_type(type, *other), dynamism);
}

/// Uniform among the integers low, …, high - 1; low must be less than high.
TensorPtr randint_strided(int64_t low, int64_t high, std::vector<aten::SizesType> sizes,
                          std::vector<aten::StridesType> strides,
                          aten::ScalarType type = aten::ScalarType::Int,
                          aten::TensorShapeDynamism dynamism = kDefaultDynamism);

inline TensorPtr randint(int64_t low, int64_t high, std::vector<aten::SizesType> sizes,
                         aten::ScalarType type = aten::ScalarType::Int,
                         aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return randint_strided(low, high, std::move(sizes), {}, type, dynamism);
}
inline TensorPtr randint_like(const TensorPtr& other, int64_t low, int64_t high,
                              aten::ScalarType type = aten::ScalarType::Undefined,
                              aten::TensorShapeDynamism dynamism = kDefaultDynamism) {
  return randint_strided(low, high, internal::sizes_of(*other), internal::strides_of(*other),
                         internal::resolve_type(type, *other), dynamism);
}

}  // namespace executorch::extension
