// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Transposed convolutions as gathers. Output points whose coordinates agree modulo the strides are
// a phase: all of them read through the same taps of the window. Each phase is a convolution of its
// own with packed weights of those taps: for each group, then each phase, its panels (gemm.h).
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

size_t transposed_packed_bytes(const GemmTiles& tiles, const Conv2dParams& params);
void pack_transposed(const GemmTiles& tiles, const Conv2dParams& params, const ConvWeights& weights,
                     float* packed);
size_t transposed_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads);
void convolve_transposed(const GemmTiles& tiles, const Conv2dParams& params, const Conv2dCall& call,
                         Threads& threads);

}  // namespace executorch::kernels::engine
