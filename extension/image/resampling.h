// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The weights of an antialiased bilinear filter, along one side of an image.
#pragma once

#include <cstdint>
#include <vector>

namespace executorch::extension::image::internal {

/// Result i is the sum of weights[k] * source[first + k] over its taps. The weights are the
/// triangle filter max(0, 1 - |d| / s), normalized to a sum of 1, where d is the distance of a
/// source pixel's center from (i + 0.5) * size / result_size and s = max(1, size / result_size):
/// PIL's BILINEAR and torch's `interpolate(mode="bilinear", antialias=True)`.
struct Taps {
  struct Range {
    int32_t first;    // the first source pixel
    int32_t count;    // of source pixels, at least 1
    int64_t weights;  // where its weights begin in Taps::weights
  };
  std::vector<Range> ranges;
  std::vector<float> weights;
};

/// Fills `taps`, whose memory is used again; may throw std::bad_alloc.
void compute_taps(int32_t size, int32_t result_size, Taps& taps);

}  // namespace executorch::extension::image::internal
