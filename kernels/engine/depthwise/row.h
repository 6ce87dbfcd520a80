// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Arguments of the depthwise micro-kernels: rows of output points. Weights are packed as
// depthwise.h describes: window columns first. Strides count floats.
//
//   out[x, c] = clamp(bias[c] + sum over kx, ky of
//       weight[kx, ky, c] * in[ky][x * step + kx, c / multiplier])
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/depthwise/depthwise.h>
#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

/// The maximum of input lines that a kernel reads at once: three rows of 5 x 5 windows, or a row of
/// 7 x 7.
inline constexpr size_t kMaxLines = 7;
/// The maximum of output rows that a kernel computes at once.
inline constexpr size_t kMaxRows = 3;

/// Neighboring points whose windows lie in input lines. A line of padding is `zero` with step 0.
struct DepthwiseRow {
  size_t channels, width;
  const float* line[kMaxLines];
  size_t pixel_step[kMaxLines];
  size_t first_column;  ///< of the first window; wraps left of the image
  size_t input_width;
  const float* zero;  ///< a pixel of zeros
  const float* weights;
  float* out;
  size_t out_pixel_stride;
  size_t out_row_stride;  ///< for kernels of several rows
  float clamp_min, clamp_max;
};

/// Points whose windows are given by pointers to their taps: `taps` of a window, window columns
/// first; the next window's begin `step` further.
struct DepthwiseTaps {
  size_t channels, width;
  size_t multiplier;  ///< outputs of an input channel
  const float* const* table;
  size_t taps, step;
  const float* weights;
  float* out;
  size_t out_pixel_stride;
  float clamp_min, clamp_max;
};

using DepthwiseRowFunction = void (*)(const DepthwiseRow&);
using DepthwiseTapsFunction = void (*)(const DepthwiseTaps&);

/// The kernel of one row for square windows; null if there is none for them.
DepthwiseRowFunction depthwise_row_function(InstructionSet set, size_t window, size_t stride);
/// The kernel of some rows at once, as many as *rows; null if there is none.
DepthwiseRowFunction depthwise_rows_function(InstructionSet set, size_t window, size_t stride,
                                             const DepthwiseRow& row, size_t* rows);
/// The kernel of any window.
DepthwiseTapsFunction depthwise_taps_function(InstructionSet set);
/// The kernel of any window for groups of `channels` inputs and as many outputs; null if there is
/// none. Multipliers are ignored.
DepthwiseTapsFunction small_groups_function(InstructionSet set, size_t channels);

}  // namespace executorch::kernels::engine
