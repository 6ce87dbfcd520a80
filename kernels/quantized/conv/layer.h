// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A convolution on int8 with checked arguments.
#pragma once

#include <executorch/kernels/portable/conv/geometry.h>
#include <executorch/kernels/quantized/int8/integer_loops.h>

namespace executorch::kernels::quantized {

struct FusedLayer {
  const portable::ConvGeometry& geometry;
  const WindowLoops windows;
  const int8_t* weight;  ///< [channels, k], k = (channel of the group, tap)
  const float* scales;   ///< one for each channel, as the offsets
  const float* offsets;
  Limits limits;
  int8_t padding;                   ///< the integer that represents 0 in the input
  const int32_t* excess = nullptr;  ///< subtracted from the sums of each channel, if given

  int64_t depth() const { return geometry.in_channels * windows.taps(); }
};

}  // namespace executorch::kernels::quantized
