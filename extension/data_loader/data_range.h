// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>

namespace executorch::extension::internal {

/// Returns Ok if `size` bytes at `offset` are within data of `total` bytes, else InvalidArgument.
/// `name` names the data in the message.
inline executorch::runtime::Error check_data_range(const char* name, size_t offset, size_t size,
                                                   size_t total) {
  ET_CHECK_OR_RETURN_ERROR(offset <= total && size <= total - offset, InvalidArgument,
                           "%s: %zu bytes at offset %zu requested, there are %zu", name, size,
                           offset, total);
  return executorch::runtime::Error::Ok;
}

/// Checks in addition that `buffer`, to which `size` bytes are to be copied, is not null unless
/// `size` is 0.
inline executorch::runtime::Error check_data_copy(const char* name, size_t offset, size_t size,
                                                  size_t total, const void* buffer) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_data_range(name, offset, size, total));
  ET_CHECK_OR_RETURN_ERROR(buffer != nullptr || size == 0, InvalidArgument,
                           "%s: no buffer for %zu bytes", name, size);
  return executorch::runtime::Error::Ok;
}

}  // namespace executorch::extension::internal
