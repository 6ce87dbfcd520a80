// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/result.h>

namespace executorch::etdump {

/// Destination of the bytes of recorded tensors.
class DataSinkBase {
 public:
  virtual ~DataSinkBase() = default;
  /// Appends the bytes; returns their offset. OutOfResources if the sink is full, AccessFailed if
  /// writing fails.
  virtual runtime::Result<size_t> write(const void* ptr, size_t length) = 0;
  virtual size_t get_used_bytes() const = 0;
};

}  // namespace executorch::etdump
