// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rotary position embedding: rotates pairs of channels by angles whose cosines and sines are given.
//
//   out[low]  = in[low] * cos[i] - in[high] * sin[i]
//   out[high] = in[high] * cos[second + i] + in[low] * sin[second + i]
//
// Pair i < pairs has the channels i and i + pairs or, interleaved, 2 * i and 2 * i + 1. Channels
// after the pairs are copied. `out` may be `in`, else no operands overlap. Any size may be 0.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct RotaryCall {
  const float *in = nullptr, *cos = nullptr, *sin = nullptr;
  float* out = nullptr;
  /// Dimensions before the channels, and the strides there, in floats; 0 broadcasts. Channels are
  /// contiguous, as all of `out` is.
  size_t rank = 0;
  const size_t *sizes = nullptr, *in_strides = nullptr, *cos_strides = nullptr,
               *sin_strides = nullptr;
  size_t channels = 0, pairs = 0;
  bool is_interleaved = false;
  /// Offset, in a row of the tables, of the values for the pairs' second channels: 0 or `pairs`.
  size_t second = 0;
};
void rotate_pairs(const RotaryCall& call, Threads& threads, InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
