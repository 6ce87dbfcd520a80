// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One plane convolved with a square window of neighboring taps where it lies: nothing is copied.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

struct PlaneWindow {
  const float* weights;  ///< [row, column]
  float bias, clamp_min, clamp_max;
  const float* in;
  size_t in_rows, in_columns;
  size_t pad_top, pad_left;
  const float* zeros;  ///< a row of zeros
  float* out;
  size_t out_rows, out_columns;
};
using PlaneWindowFunction = void (*)(const PlaneWindow&);

/// The function for windows of side x side taps and strides; null if there is none.
PlaneWindowFunction plane_window_function(InstructionSet set, size_t side, size_t stride);

}  // namespace executorch::kernels::engine
