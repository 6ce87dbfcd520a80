// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// An operator's name as kernels register it.
#pragma once

#include <string.h>

#include <string_view>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/optional_vector.h>

namespace executorch::runtime::internal {

constexpr size_t kOperatorTextSize = 128;

/// Writes "aten::add.out", or "aten::copy_" if there is no overload.
/// @retval Error::InvalidProgram It does not fit.
inline Error write_operator_text(const executorch_flatbuffer::Operator& op,
                                 char (&out)[kOperatorTextSize]) {
  // Up to a null character, as text() is read: the string's own size may be more.
  const auto up_to_null = [](std::string_view text) { return text.substr(0, text.find('\0')); };
  const std::string_view name = up_to_null(text_view(op.name()));
  const std::string_view overload = up_to_null(text_view(op.overload()));
  const size_t name_size = name.size();
  const size_t overload_size = overload.size();
  ET_CHECK_OR_RETURN_ERROR(name_size < kOperatorTextSize && overload_size < kOperatorTextSize &&
                               name_size + overload_size + 2 <= kOperatorTextSize,
                           InvalidProgram,
                           "operator '%.40s...': a name of %zu characters, expected less than %zu",
                           text(op.name()), name_size + overload_size + 1, kOperatorTextSize);
  size_t end = name.copy(out, name_size);
  if (overload_size > 0) {
    out[end++] = '.';
    end += overload.copy(out + end, overload_size);
  }
  out[end] = '\0';
  return Error::Ok;
}

/// Whether it is the operator that makes a tensor a view of another: (self, size, out).
inline bool is_view(const executorch_flatbuffer::Operator& op) {
  return std::string_view(text(op.name())) == "executorch_prim::et_view";
}
inline bool is_view(const char* operator_text) {
  return strcmp(operator_text, "executorch_prim::et_view.default") == 0;
}

}  // namespace executorch::runtime::internal
