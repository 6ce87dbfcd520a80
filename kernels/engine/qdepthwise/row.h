// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface between the driver of int8 depthwise convolutions and its micro-kernels, which
// compute rows of results.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

/// How a kernel packs a block of channels. A block's sums are `taps` vectors of `lanes` groups of
/// four; a step multiplies `taps` taps of each channel, whose weights are next to each other. Where
/// groups have more than one channel, a tap is one input of a pixel.
/// Vectors of channels that are interleaved within lanes of 16 bytes give sums in this order.
struct QDepthwiseLayout {
  size_t lanes, taps;
  /// Windows of this height begin a new step with each column; other windows have no incomplete
  /// step but the last. 0: no window does.
  size_t column_height;
  int32_t offset;  ///< added to each element of the image to make it unsigned

  constexpr size_t block() const { return 4 * lanes * taps; }
  constexpr size_t step_bytes() const { return block() * sizeof(int32_t); }
  constexpr size_t weight_bytes() const { return sizeof(int32_t) / taps; }
  /// The channel at a place of a block.
  constexpr size_t channel_at(size_t place) const {
    return place / 4 % lanes * 4 * taps + place / (4 * lanes) * 4 + place % 4;
  }
  /// Taps of windows that a step multiplies.
  constexpr size_t step_taps(size_t height) const {
    return height == column_height ? height : taps;
  }
};

/// Pairs of taps as words, of 16 channels.
inline constexpr QDepthwiseLayout kQDepthwisePairs = {2, 2, 0, 0};
inline constexpr size_t kQDepthwiseBlock = kQDepthwisePairs.block();

/// Points whose windows are given by pointers to their taps, window columns first; the next
/// window's begin `step` further.
struct QDepthwiseRow {
  QDepthwiseLayout layout;
  size_t channels, width;
  size_t group;  ///< channels of a group: inputs of an output
  const int8_t* const* table;
  size_t kernel_height, kernel_width, step;
  const int8_t* packed;

  size_t taps() const { return kernel_height * kernel_width; }
  /// The number of weights of an output.
  size_t factors() const { return taps() * group; }
  size_t step_taps() const { return layout.step_taps(kernel_height); }
  size_t steps() const { return divide_up(factors(), step_taps()); }
  /// Bytes of a block: its first sums, weights, scales and, for dynamic products, biases.
  size_t sums_bytes() const { return layout.step_bytes(); }
  size_t scales_at() const { return sums_bytes() + steps() * layout.step_bytes(); }
  size_t block_bytes() const { return scales_at() + 2 * layout.block() * sizeof(float); }
};

struct QDepthwiseKernel {
  InstructionSet set;
  const char* name;
  QDepthwiseLayout layout;
  void (*to_bytes)(const QDepthwiseRow&, int8_t* out, size_t out_pixel_stride,
                   const Requantization&);
  /// One zero point and scale for the row.
  void (*to_floats)(const QDepthwiseRow&, float* out, size_t out_pixel_stride, const QDynamic&);
};

#define ET_QDEPTHWISE_KERNEL(function, set) const QDepthwiseKernel& function();
#define ET_QSMALL_GROUPS_KERNEL(function, set, channels) ET_QDEPTHWISE_KERNEL(function, set)
#include <executorch/kernels/engine/qdepthwise/kernels.inc>
#undef ET_QSMALL_GROUPS_KERNEL
#undef ET_QDEPTHWISE_KERNEL

}  // namespace executorch::kernels::engine
