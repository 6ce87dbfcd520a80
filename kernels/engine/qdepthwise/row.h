// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The interface between the driver of int8 depthwise convolutions and its micro-kernels, which
// compute rows of results.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

inline constexpr size_t kQDepthwiseBlock = 16;
/// The channel at each place of a block. Two vectors of eight words that are interleaved within
/// halves of a register give sums in this order.
inline constexpr uint8_t kQDepthwiseOrder[kQDepthwiseBlock] = {0, 1, 2, 3, 8,  9,  10, 11,
                                                               4, 5, 6, 7, 12, 13, 14, 15};

/// Points whose windows are given by pointers to their taps: `taps` of a window, window columns
/// first; the next window's begin `step` further.
struct QDepthwiseRow {
  size_t channels, width;
  const int8_t* const* table;
  size_t taps, step;
  const int8_t* packed;

  size_t pairs() const { return divide_up(taps, 2); }
  /// Bytes of a block: before its scales, and of all.
  size_t scales_at() const {
    return kQDepthwiseBlock * (sizeof(int32_t) + pairs() * 2 * sizeof(int16_t));
  }
  size_t block_bytes() const { return scales_at() + 2 * kQDepthwiseBlock * sizeof(float); }
};

struct QDepthwiseKernel {
  InstructionSet set;
  const char* name;
  void (*to_bytes)(const QDepthwiseRow&, int8_t* out, size_t out_pixel_stride,
                   const Requantization&);
  /// One zero point and scale for the row.
  void (*to_floats)(const QDepthwiseRow&, float* out, size_t out_pixel_stride, const QDynamic&);
};

#define ET_QDEPTHWISE_KERNEL(function, set) const QDepthwiseKernel& function();
#include <executorch/kernels/engine/qdepthwise/kernels.inc>
#undef ET_QDEPTHWISE_KERNEL

/// The kernel of the highest set in kernels.inc up to `set`.
const QDepthwiseKernel& qdepthwise_kernel(InstructionSet set);

}  // namespace executorch::kernels::engine
