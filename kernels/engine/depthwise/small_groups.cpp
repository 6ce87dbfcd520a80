// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/row.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/depthwise/small_groups.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

DepthwiseTapsFunction small_groups_function(InstructionSet set, size_t channels) {
  return (*ET_SIMD_FUNCTION(set, find_group))(channels);
}

}  // namespace executorch::kernels::engine
