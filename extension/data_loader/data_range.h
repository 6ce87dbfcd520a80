// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>

namespace executorch::extension::internal {

/// Ok if `size` bytes at `offset` lie within data of `total` bytes, else InvalidArgument; `name` is
/// what the data is called in the message.
inline executorch::runtime::Error check_data_range(const char* name, size_t offset, size_t size,
                                                   size_t total) {
  ET_CHECK_OR_RETURN_ERROR(offset <= total && size <= total - offset, InvalidArgument,
                           "%s: %zu bytes at offset %zu asked for, there are %zu", name, size,
                           offset, total);
  return executorch::runtime::Error::Ok;
}

}  // namespace executorch::extension::internal
