// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of int8 images by windows of 3 x 3 points with stride 1, in 16 multiplications for
// 2 x 2 results instead of 36: Winograd's F(2x2, 3x3) (winograd/winograd.h) in integers,
//
//   4 * sum = A^T ((G' g G'^T) * (B^T d B)) A, summed over channels before A; G' = 2 G
//
// Transformed kernels are at most 1,152 in magnitude and transformed points 512. Both fit 16 bits
// without rounding, so results are those of the direct sums (qgemm.h), bit for bit. Only AVX2
// without VNNI becomes faster: its direct sums multiply 16-bit elements too. Kernels are
// transformed at each call, from the panels that QConv2d packs for direct sums. So packed weights
// need no more memory, and QConv2d can choose by the size of an image. Kernels that were
// transformed once would need 3.6 times the bytes, and reading these takes as long as transforming.
// QConv2d (qgemm/qconv.h) calls these functions.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {

/// False on processors for which there are no kernels. The functions below are not defined there.
#if defined(__x86_64__)
inline constexpr bool kHasQWinograd = true;
#else
inline constexpr bool kHasQWinograd = false;
#endif

/// True if it supports the convolution with these tiles, and is faster than direct sums. All other
/// functions require it.
bool qwinograd_gains(const QGemmTiles& tiles, const Conv2dParams& params, size_t batch,
                     ImageSize input);
size_t qwinograd_scratch_bytes(const Conv2dParams& params, size_t batch, ImageSize input,
                               size_t threads);
void qwinograd(const Conv2dParams& params, const QConv2dCall& call, Threads& threads);
void dynamic_qwinograd(const Conv2dParams& params, const DynamicQConv2dCall& call,
                       Threads& threads);

}  // namespace executorch::kernels::engine
