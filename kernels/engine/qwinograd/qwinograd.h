// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of int8 images by windows of 3 x 3 points with stride 1, in 16 multiplications for
// 2 x 2 results instead of 36: Winograd's F(2x2, 3x3) (winograd/winograd.h) in integers,
//
//   4 * sum = A^T ((G' g G'^T) * (B^T d B)) A, summed over channels before A; G' = 2 G
//
// Transformed kernels are at most 1,152 in magnitude and transformed points 512, so that both have
// 16 bits and no rounding: results are those of the direct sums (qgemm.h), bit for bit. It gains on
// AVX2 alone, which multiplies 16 bits anyway. It reads the panels that QConv2d packs for direct
// sums and transforms them at every call, so packed weights are no larger, and the choice may
// depend on the size of an image. QConv2d (qgemm/qconv.h) calls these functions.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

struct QWinograd {
  size_t (*scratch_bytes)(const Conv2dParams&, size_t batch, ImageSize input, size_t threads);
  void (*run)(const Conv2dParams&, const QConv2dCall&, Threads&);
  void (*run_dynamic)(const Conv2dParams&, const DynamicQConv2dCall&, Threads&);
};

/// Null unless it supports the convolution with these tiles, and is faster than direct sums.
const QWinograd* qwinograd_that_gains(const QGemmTiles& tiles, const Conv2dParams& params,
                                      size_t batch, ImageSize input);

}  // namespace executorch::kernels::engine
