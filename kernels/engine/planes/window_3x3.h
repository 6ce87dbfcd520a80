// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One plane convolved with 3 x 3 neighbouring taps, stride 1, where it lies: nothing is copied.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

struct Plane3x3 {
  const float* weights;  ///< [row, column]
  float bias, clamp_min, clamp_max;
  const float* in;
  size_t in_rows, in_columns;
  size_t pad_top, pad_left;
  const float* zeros;  ///< a row of zeros
  float* out;
  size_t out_rows, out_columns;
};
using Plane3x3Function = void (*)(const Plane3x3&);

Plane3x3Function plane_3x3_function(InstructionSet set);

}  // namespace executorch::kernels::engine
