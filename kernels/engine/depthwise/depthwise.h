// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions: those of conv.h with one input channel a group and any number of outputs
// of it (the multiplier). Groups of few channels, with as many outputs as inputs, are computed in
// the same way. Vectors hold neighboring channels; weights are packed for blocks of kDepthwiseBlock
// outputs: their biases, then for each column and row of the window, and for each input of a group,
// their weights.
// Conv2d (conv.h) plans and calls these; callers use Conv2d.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

inline constexpr size_t kDepthwiseBlock = 16;

/// True for groups of 2, 4, 8 or 16 inputs and as many outputs.
bool has_small_groups(const Conv2dParams& params);

size_t depthwise_packed_bytes(const Conv2dParams& params);
void pack_depthwise(const Conv2dParams& params, const ConvWeights& weights, float* packed);
/// @param writes_pairs Rounds the outputs to pairs of bfloat16, as Conv2d::writing_pairs() does.
size_t depthwise_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads,
                               bool writes_pairs = false);
void depthwise(const Conv2dParams& params, const Conv2dCall& call, Threads& threads,
               InstructionSet set, bool writes_pairs);

}  // namespace executorch::kernels::engine
