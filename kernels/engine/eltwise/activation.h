// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The activations of an epilogue, as maps of contiguous numbers.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

using MapFunction = void (*)(const float* in, float* out, size_t count, float a, float b);

/// Null for none.
MapFunction activation_function(Activation activation, InstructionSet set);

/// Applies a function, if there is one, to rows of results in place. stride: floats.
inline void activate_rows(MapFunction function, float* out, size_t rows, size_t columns,
                          size_t stride) {
  if (function == nullptr) return;
  if (columns == stride) {
    columns *= rows;
    rows = 1;
  }
  for (size_t r = 0; r < rows; ++r) function(out + r * stride, out + r * stride, columns, 0, 0);
}

}  // namespace executorch::kernels::engine
