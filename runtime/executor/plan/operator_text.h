// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// An operator's name as kernels register it.
#pragma once

#include <string.h>

#include <string_view>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::runtime::internal {

constexpr size_t kOperatorTextSize = 128;

/// Writes "aten::add.out", or "aten::copy_" if there is no overload.
/// @retval Error::InvalidProgram It does not fit.
inline Error write_operator_text(const executorch_flatbuffer::Operator& op,
                                 char (&out)[kOperatorTextSize]) {
  // Not strlen(): with its sanitizers, GCC 12 warns about the length of an absent name.
  const char* part = text(op.name());
  const char* next_part = text(op.overload());
  for (char& character : out) {
    character = *part++;
    if (character == '\0' && *next_part == '\0') {
      return Error::Ok;
    }
    if (character == '\0') {
      character = '.';
      part = next_part;
      next_part = "";
    }
  }
  ET_LOG(Error, "operator '%.40s...': its name has more than the %zu characters allowed",
         text(op.name()), kOperatorTextSize - 1);
  return Error::InvalidProgram;
}

}  // namespace executorch::runtime::internal
