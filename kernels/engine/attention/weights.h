// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The rows between the two products of dense attention.
#pragma once

#include <cstddef>

namespace executorch::kernels::engine {

/// Scores that become weights in their place: exp(scale * score + mask - most).
struct ScoreRows {
  float* scores;
  size_t rows, keys, stride;
  float scale;
  /// Null: nothing is added. Strides from row to row and from key to key; the latter is 0 or 1.
  const float* mask;
  size_t mask_stride, mask_key_stride;
  float* factors;  ///< for each row, one divided by the sum of its weights
};

}  // namespace executorch::kernels::engine
