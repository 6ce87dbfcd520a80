// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <array>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime {

/// "(", 16 sizes of at most 20 characters with ", " between them, ")" and NUL.
constexpr size_t kTensorShapeStringSizeLimit = 2 + kTensorDimensionLimit * 22;

/// For log messages: "(2, 3)". A rank above the limit is "(ERR: tensor ndim exceeds limit)".
/// The text lives as long as the returned array: tensor_shape_to_c_string(sizes).data() may be an
/// argument of ET_LOG.
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const int32_t> shape);
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const int64_t> shape);
/// Formats tensor.sizes(), whose list type depends on the mode.
template <template <typename> class List, typename Size>
std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(const List<Size>& shape) {
  return tensor_shape_to_c_string(Span<const Size>(shape.data(), shape.size()));
}

}  // namespace executorch::runtime
