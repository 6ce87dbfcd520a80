// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/window_3x3.h>

#include <algorithm>

#define ET_SIMD_SOURCE <executorch/kernels/engine/planes/window_3x3.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

Plane3x3Function plane_3x3_function(InstructionSet set) {
  if (set == InstructionSet::Scalar) return plain::sum_plane<1>;
  return ET_SIMD_FUNCTION(set, plane);
}

}  // namespace executorch::kernels::engine
