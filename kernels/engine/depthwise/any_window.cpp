// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/row.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/depthwise/any_window.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

DepthwiseTapsFunction depthwise_taps_function(InstructionSet set) {
  if (set == InstructionSet::Scalar) return plain::sum_row<1>;
  return ET_SIMD_FUNCTION(set, taps);
}

}  // namespace executorch::kernels::engine
