// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensors over the numbers that images and audio hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm::internal {

using ThreeSizes = std::array<aten::SizesType, 3>;

/// True if the sizes are positive and their product is `count`.
inline bool product_is(const ThreeSizes& sizes, uint64_t count) {
  for (const aten::SizesType size : sizes) {
    if (size <= 0 || count % uint64_t(size) != 0) return false;
    count /= uint64_t(size);
  }
  return count == 1;
}

/// A tensor over `count` numbers, which must outlive it. Its sizes are `sizes`, after a batch of 1
/// if `with_batch`. InvalidArgument, with `what` in the message, if the sizes are not positive, do
/// not match the count, or are more than a tensor can have.
inline runtime::Result<TensorPtr> tensor_over(const char* what, const void* numbers, size_t count,
                                              aten::ScalarType type, const ThreeSizes& sizes,
                                              bool with_batch) {
  ET_CHECK_OR_RETURN_ERROR(product_is(sizes, count), InvalidArgument,
                           "%s: expected %d x %d x %d numbers, found %zu", what, int(sizes[0]),
                           int(sizes[1]), int(sizes[2]), count);
  std::vector<aten::SizesType> all(sizes.begin(), sizes.end());
  if (with_batch) all.insert(all.begin(), 1);
  ET_CHECK_OR_RETURN_ERROR(can_make_tensor(all, type), InvalidArgument,
                           "%s: %zu numbers are more than a tensor has", what, count);
  return from_blob(const_cast<void*>(numbers), std::move(all), type);
}

template <typename T>
runtime::Result<TensorPtr> tensor_over(const char* what, const std::vector<T>& numbers,
                                       const ThreeSizes& sizes, bool with_batch) {
  return tensor_over(what, numbers.data(), numbers.size(), runtime::CppTypeToScalarType<T>::value,
                     sizes, with_batch);
}

template <typename... T>
runtime::Result<TensorPtr> tensor_over(const char* what,
                                       const std::variant<std::vector<T>...>& numbers,
                                       const ThreeSizes& sizes, bool with_batch) {
  return std::visit(
      [&](const auto& vector) { return tensor_over(what, vector, sizes, with_batch); }, numbers);
}

}  // namespace executorch::extension::llm::internal
