// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Windows of images with few channels, read from where they lie. An indirection buffer would be
// larger than image and result, and cost as much as the products: here a row of a window is one
// part of depth, found by its place in the image or, where windows reach into padding, in a padded
// copy. The sums are those of convolve_windows(), to the bit.
#pragma once

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

namespace executorch::kernels::engine {

/// True if rows of windows are contiguous, pixels are small, and a row fits the padded copy.
bool uses_direct_windows(const GemmTiles& tiles, const Conv2dParams& params, const Conv2dCall& call,
                         ImageSize output);
void convolve_direct_windows(const GemmTiles& tiles, const Conv2dParams& params,
                             const Conv2dCall& call, bool writes_pairs, Threads& threads);

}  // namespace executorch::kernels::engine
