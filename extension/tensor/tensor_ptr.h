// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// TensorPtr: a tensor that owns its sizes, dim order and strides, and optionally its data.
//
// Arguments that contradict each other (sizes against the number of elements, strides against the
// dim order) are programming errors and end the program with a message. The functions throw
// std::bad_alloc if memory is exhausted.
#pragma once

#ifdef USE_ATEN_LIB
#error "TensorPtr exists only in lean mode: in ATen mode, an at::Tensor owns its data"
#endif

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#endif

namespace executorch::extension {

using TensorPtr = std::shared_ptr<aten::Tensor>;

/// True if a row-major tensor can have these sizes: its bytes and strides fit. make_tensor_ptr()
/// ends the process for others.
bool can_make_tensor(const std::vector<aten::SizesType>& sizes, aten::ScalarType type);

/// A tensor over `data`, which must outlive the tensor unless `deleter` owns it: that is called
/// with `data` when the last TensorPtr is gone. An empty `dim_order` is taken from `strides`, empty
/// `strides` from the dim order; both empty mean row-major. `data` lies on `device`.
TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, void* data, std::vector<aten::DimOrderType> dim_order,
    std::vector<aten::StridesType> strides, aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND,
    std::function<void(void*)> deleter = nullptr,
    aten::Device device = aten::Device(aten::DeviceType::CPU));

/// The same, row-major.
inline TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, void* data, aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND,
    std::function<void(void*)> deleter = nullptr,
    aten::Device device = aten::Device(aten::DeviceType::CPU)) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, dynamism, std::move(deleter),
                         device);
}

/// A tensor that owns `data`: the bytes of its elements, which are of `type`.
TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, std::vector<uint8_t> data,
    std::vector<aten::DimOrderType> dim_order, std::vector<aten::StridesType> strides,
    aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND);

inline TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, std::vector<uint8_t> data,
    aten::ScalarType type = aten::ScalarType::Float,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr(std::move(sizes), std::move(data), {}, {}, type, dynamism);
}

/// A tensor that owns `data`, one element each. If `type` differs from T's, the elements are
/// converted as converts_to() allows.
template <typename T = float,
          aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, std::vector<T> data,
    std::vector<aten::DimOrderType> dim_order = {}, std::vector<aten::StridesType> strides = {},
    aten::ScalarType type = deduced_type,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  const auto numel = aten::safe_numel(sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(numel.ok() && static_cast<size_t>(*numel) == data.size(),
               "%zu elements of data do not match the sizes", data.size());
  if constexpr (!std::is_same_v<T, bool>) {
    if (type == deduced_type) {
      auto owner = std::make_shared<std::vector<T>>(std::move(data));
      void* elements = owner->data();
      return make_tensor_ptr(std::move(sizes), elements, std::move(dim_order), std::move(strides),
                             type, dynamism, [owner](void*) {});
    }
  }
  ET_CHECK_MSG(converts_to(deduced_type, type), "elements of %s cannot be converted to %s",
               runtime::toString(deduced_type), runtime::toString(type));
  std::vector<uint8_t> bytes(data.size() * runtime::elementSize(type));
  bool converted = true;
  if constexpr (std::is_same_v<T, bool>) {
    // std::vector<bool> packs its elements.
    const std::unique_ptr<bool[]> unpacked(new bool[data.size()]);
    std::copy(data.begin(), data.end(), unpacked.get());
    converted = convert_elements(unpacked.get(), data.size(), type, bytes.data());
  } else {
    converted = convert_elements(data.data(), data.size(), type, bytes.data());
  }
  ET_CHECK_MSG(converted, "elements cannot be converted to the type");
  return make_tensor_ptr(std::move(sizes), std::move(bytes), std::move(dim_order),
                         std::move(strides), type, dynamism);
}

/// A tensor of one dimension that owns `data`.
template <typename T = float,
          aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<T> data, aten::ScalarType type = deduced_type,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  std::vector<aten::SizesType> sizes{static_cast<aten::SizesType>(data.size())};
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::move(data), {}, {}, type,
                                          dynamism);
}

template <typename T = float,
          aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, std::initializer_list<T> list,
    std::vector<aten::DimOrderType> dim_order = {}, std::vector<aten::StridesType> strides = {},
    aten::ScalarType type = deduced_type,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::vector<T>(list),
                                          std::move(dim_order), std::move(strides), type, dynamism);
}

/// Like above, row-major, with elements converted to `type`. A list of uint8_t contains the raw
/// bytes of the elements, as a vector does.
template <typename T, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value,
          typename = std::enable_if_t<!std::is_same_v<T, uint8_t>>>
TensorPtr make_tensor_ptr(
    std::vector<aten::SizesType> sizes, std::initializer_list<T> list, aten::ScalarType type,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(std::move(sizes), std::vector<T>(list), {}, {}, type,
                                          dynamism);
}

template <typename T = float,
          aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(
    std::initializer_list<T> list, aten::ScalarType type = deduced_type,
    aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::DYNAMIC_BOUND) {
  return make_tensor_ptr<T, deduced_type>(std::vector<T>(list), type, dynamism);
}

/// A tensor of no dimensions with one element.
template <typename T>
TensorPtr make_tensor_ptr(T value) {
  return make_tensor_ptr(std::vector<aten::SizesType>{}, std::vector<T>{value});
}

/// The same, the element converted to `type`.
template <typename T, aten::ScalarType deduced_type = runtime::CppTypeToScalarType<T>::value>
TensorPtr make_tensor_ptr(T value, aten::ScalarType type) {
  return make_tensor_ptr<T, deduced_type>(std::vector<aten::SizesType>{}, std::vector<T>{value}, {},
                                          {}, type);
}

/// A view of `tensor`'s data, which must outlive it unless `deleter` owns it. Empty arguments
/// default to `tensor`'s; other `sizes` must not need more elements.
TensorPtr make_tensor_ptr(const aten::Tensor& tensor, std::vector<aten::SizesType> sizes = {},
                          std::vector<aten::DimOrderType> dim_order = {},
                          std::vector<aten::StridesType> strides = {},
                          std::function<void(void*)> deleter = nullptr);

/// A view that keeps the tensor it views alive; `tensor` must not be null.
inline TensorPtr make_tensor_ptr(const TensorPtr& tensor, std::vector<aten::SizesType> sizes = {},
                                 std::vector<aten::DimOrderType> dim_order = {},
                                 std::vector<aten::StridesType> strides = {}) {
  ET_CHECK_MSG(tensor != nullptr, "make_tensor_ptr: the tensor to view is null");
  return make_tensor_ptr(*tensor, std::move(sizes), std::move(dim_order), std::move(strides),
                         [tensor](void*) {});
}

/// A copy in separate memory, with elements converted to `type`. The copy of a tensor without data
/// lacks data too. A TensorPtr to copy must not be null.
TensorPtr clone_tensor_ptr(const aten::Tensor& tensor, aten::ScalarType type);

inline TensorPtr clone_tensor_ptr(const aten::Tensor& tensor) {
  return clone_tensor_ptr(tensor, tensor.scalar_type());
}
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor, aten::ScalarType type) {
  ET_CHECK_MSG(tensor != nullptr, "clone_tensor_ptr: the tensor is null");
  return clone_tensor_ptr(*tensor, type);
}
inline TensorPtr clone_tensor_ptr(const TensorPtr& tensor) {
  ET_CHECK_MSG(tensor != nullptr, "clone_tensor_ptr: the tensor is null");
  return clone_tensor_ptr(*tensor);
}

/// A copy on `target`, with memory of its own. The tensor's device or `target` must be the CPU, or
/// both must be the same device. Other devices need a registered allocator
/// (runtime/core/device_allocator.h).
TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, aten::Device target);

/// Resizes the tensor. Its rank stays, and `sizes` may not need more elements than the tensor was
/// made with, or change the sizes of a static tensor.
/// @retval Error::NotSupported Other sizes.
/// @retval Error::InvalidArgument The TensorPtr is null.
[[nodiscard]] runtime::Error resize_tensor_ptr(TensorPtr& tensor,
                                               const std::vector<aten::SizesType>& sizes);

}  // namespace executorch::extension
