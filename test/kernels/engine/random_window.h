// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Random parts of a convolution's parameters.
#pragma once

#include <executorch/kernels/engine/conv/conv.h>

#include "support.h"

namespace engine_test {

inline void draw_steps(Random& random, size_t max_stride, Conv2dParams& p) {
  p.stride_height = random.size(1, max_stride);
  p.stride_width = random.size(1, max_stride);
  p.dilation_height = random.size(1, 2);
  p.dilation_width = random.size(1, 2);
}

inline void draw_padding(Random& random, size_t max, Conv2dParams& p) {
  p.pad_top = random.size(0, max);
  p.pad_left = random.size(0, max);
  p.pad_bottom = random.size(0, max);
  p.pad_right = random.size(0, max);
}

}  // namespace engine_test
