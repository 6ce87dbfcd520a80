// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/window_in_place.h>

#include <algorithm>

#define ET_SIMD_SOURCE <executorch/kernels/engine/planes/window_in_place.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

PlaneWindowFunction plane_window_function(InstructionSet set, size_t side, size_t stride) {
  if (side == 3 && stride == 1) return ET_SIMD_FUNCTION(set, sum_plane_3_1);
  if (side == 3 && stride == 2) return ET_SIMD_FUNCTION(set, sum_plane_3_2);
  if (side == 5 && stride == 1) return ET_SIMD_FUNCTION(set, sum_plane_5_1);
  if (side == 5 && stride == 2) return ET_SIMD_FUNCTION(set, sum_plane_5_2);
  return nullptr;
}

}  // namespace executorch::kernels::engine
