// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/row.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/depthwise/one_row.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

DepthwiseRowFunction depthwise_row_function(InstructionSet set, size_t window, size_t stride) {
  if (set == InstructionSet::Scalar) return plain::find_row<1, 3>(window, stride);
  return ET_SIMD_FUNCTION(set, find)(window, stride);
}

}  // namespace executorch::kernels::engine
