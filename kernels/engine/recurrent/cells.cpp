// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/recurrent/cells.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/recurrent/cells.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

CellStep<float> cell_step(Cell cell, InstructionSet set) {
  return ET_SIMD_FUNCTION(set, step_of)(cell);
}

}  // namespace executorch::kernels::engine
