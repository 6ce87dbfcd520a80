// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The steps of recurrent layers' cells in float32. NaN stays NaN.
#pragma once

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/recurrent/cell_formulas.h>

namespace executorch::kernels::engine {

CellStep<float> cell_step(Cell cell, InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
