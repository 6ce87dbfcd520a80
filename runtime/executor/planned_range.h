// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Where in the planned buffers a tensor lies.
#pragma once

#include <stdint.h>

#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch::runtime::internal {

struct PlannedRange {
  uint32_t buffer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool overlaps(const PlannedRange& other) const {
    return buffer != 0 && buffer == other.buffer && begin < other.end && other.begin < end;
  }
};

/// Empty if the tensor has no planned memory.
inline PlannedRange planned_range(const executorch_flatbuffer::Tensor& tensor) {
  const executorch_flatbuffer::AllocationDetails* where = tensor.allocation_info();
  if (where == nullptr) {
    return {};
  }
  const auto sizes = items(tensor.sizes());
  const auto bytes = etensor::safe_nbytes(static_cast<etensor::ScalarType>(tensor.scalar_type()),
                                          sizes.data(), static_cast<ssize_t>(sizes.size()));
  const uint64_t begin = planned_offset(*where);
  return {where->memory_id(), begin, begin + (bytes.ok() ? *bytes : 0)};
}

}  // namespace executorch::runtime::internal
