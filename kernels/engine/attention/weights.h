// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The rows between the two products of dense attention.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine {

/// Scores of a block of keys that become weights in their place:
///   exp(scale * score + mask - largest), `largest` over these and all earlier keys;
/// `score` replaces scale * score + mask where a boolean says so.
/// Each row has room for a multiple of 16 keys; the room after the keys is overwritten.
struct ScoreRows {
  float* scores;
  size_t rows, keys, stride;
  float scale;
  /// Null: nothing is added. Strides from row to row and from key to key; the latter is 0 or 1.
  const float* mask;
  size_t mask_stride, mask_key_stride;
  /// Null: nothing is replaced. Strides as those of the mask.
  const uint8_t* replaced;
  size_t replaced_stride, replaced_key_stride;
  bool replaces_true;
  float score;
  bool is_first;  ///< of the blocks of keys
  /// For each row, the largest score and the sum of the weights so far.
  float *largest, *sums;
  /// Written for each row: what to multiply the results of earlier keys by.
  float* factors;
};

}  // namespace executorch::kernels::engine
