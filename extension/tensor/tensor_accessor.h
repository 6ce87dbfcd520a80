// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// TensorAccessor: elements by index, `accessor[1][2]`, for a type and rank known when compiling.
#pragma once

#include <stddef.h>

#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension {

/// Accessor with one dimension less at each index. It borrows the tensor's data and sizes: the
/// TensorImpl must outlive it and keep its sizes. Indices are unchecked.
template <typename T, ssize_t N>
class TensorAccessor final {
  static_assert(N > 0, "a tensor without dimensions has one element: take const_data_ptr<T>()[0]");

 public:
  TensorAccessor(T* data, const aten::SizesType* sizes, const aten::StridesType* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  /// Aborts unless `dim` is below N.
  aten::SizesType size(ssize_t dim) const { return sizes_[checked(dim)]; }
  aten::StridesType stride(ssize_t dim) const { return strides_[checked(dim)]; }

  /// An accessor of the rest, or for N == 1 a reference to the element.
  decltype(auto) operator[](ssize_t index) const {
    T* const data = data_ + static_cast<ssize_t>(strides_[0]) * index;
    if constexpr (N == 1) {
      return static_cast<T&>(*data);
    } else {
      return TensorAccessor<T, N - 1>(data, sizes_ + 1, strides_ + 1);
    }
  }

 private:
  static ssize_t checked(ssize_t dim) {
    ET_CHECK_MSG(dim >= 0 && dim < N, "dimension %zd of an accessor of rank %zd", dim, N);
    return dim;
  }

  T* data_;
  const aten::SizesType* sizes_;
  const aten::StridesType* strides_;
};

/// Returns an accessor of `tensor`'s elements as T (const or not). InvalidArgument if the rank
/// differs from N or the element size from T's, NotSupported if the tensor lacks strides.
template <typename T, ssize_t N>
runtime::Result<TensorAccessor<T, N>> make_tensor_accessor(const aten::Tensor& tensor) {
  ET_CHECK_OR_RETURN_ERROR(tensor.dim() == N, InvalidArgument,
                           "accessor of rank %zd for a tensor of rank %zd", N,
                           static_cast<ssize_t>(tensor.dim()));
  ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(tensor.element_size()) == sizeof(T), InvalidArgument,
                           "accessor of %zu-byte elements for %zu-byte ones", sizeof(T),
                           static_cast<size_t>(tensor.element_size()));
  ET_CHECK_OR_RETURN_ERROR(tensor.strides().size() == static_cast<size_t>(N), NotSupported,
                           "the tensor lacks strides");
  T* data = nullptr;
  if constexpr (std::is_const_v<T>) {
    data = tensor.const_data_ptr<std::remove_const_t<T>>();
  } else {
    data = tensor.mutable_data_ptr<T>();
  }
  return TensorAccessor<T, N>(data, tensor.sizes().data(), tensor.strides().data());
}

}  // namespace executorch::extension
