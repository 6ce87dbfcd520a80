// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <stdio.h>

namespace executorch::runtime {
namespace {

using Text = std::array<char, kTensorShapeStringSizeLimit>;

template <typename Size>
Text format_shape(Span<const Size> shape) {
  Text text;
  if (shape.size() > kTensorDimensionLimit) {
    snprintf(text.data(), text.size(), "(ERR: tensor ndim exceeds limit)");
    return text;
  }
  char* at = text.data();
  char* const end = at + text.size();
  *at++ = '(';
  for (size_t i = 0; i < shape.size(); ++i) {
    at += snprintf(at, static_cast<size_t>(end - at), i == 0 ? "%lld" : ", %lld",
                   static_cast<long long>(shape[i]));
  }
  snprintf(at, static_cast<size_t>(end - at), ")");
  return text;
}

}  // namespace

Text tensor_shape_to_c_string(Span<const int32_t> shape) { return format_shape(shape); }
Text tensor_shape_to_c_string(Span<const int64_t> shape) { return format_shape(shape); }

}  // namespace executorch::runtime
