// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A tensor's byte range in the planned buffers.
#pragma once

#include <stdint.h>

#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

struct PlannedRange {
  uint32_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool overlaps(const PlannedRange& other) const {
    return buffer != 0 && buffer == other.buffer && begin < other.end && other.begin < end;
  }

  /// Extends the range to contain another one, unless that is empty.
  void extend(const PlannedRange& other) {
    if (other.buffer != 0) {
      begin = other.begin < begin ? other.begin : begin;
      end = other.end > end ? other.end : end;
    }
  }
};

/// Empty if the tensor has no planned memory, or no elements.
PlannedRange planned_range(const executorch_flatbuffer::Tensor& tensor);

}  // namespace executorch::runtime::internal
