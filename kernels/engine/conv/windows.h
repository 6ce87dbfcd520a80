// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions as products of windows, through an indirection buffer or, for images of few
// channels, directly (direct_windows.h). Packed weights: for each group its panels (gemm.h), whose
// depth is taps, row after row of the window, times inputs.
//
// With tiles of bfloat16 everything but pack_windows() takes parameters in_words(), and images and
// pixel strides of pairs: each group's channels begin on a pair.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

/// group_inputs as elements of 32 bits: halved, rounded up, for tiles of bfloat16.
Conv2dParams in_words(const GemmTiles& tiles, Conv2dParams params);

size_t windows_packed_bytes(const GemmTiles& tiles, const Conv2dParams& params);
void pack_windows(const GemmTiles& tiles, const Conv2dParams& params, const ConvWeights& weights,
                  float* packed, Threads& threads);
size_t windows_scratch_bytes(const GemmTiles& tiles, const Conv2dParams& params, ImageSize input,
                             size_t threads);
/// @param writes_pairs Rounds the outputs to pairs of bfloat16, as Conv2d::writing_pairs() does.
void convolve_windows(const GemmTiles& tiles, const Conv2dParams& params, const Conv2dCall& call,
                      bool writes_pairs, Threads& threads);

}  // namespace executorch::kernels::engine
