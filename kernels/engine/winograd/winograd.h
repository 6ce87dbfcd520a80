// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of 3 x 3 windows with fewer multiplications: Winograd's F(2x2, 3x3) of Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, arXiv:1509.09308:
//
//   out = A^T ((G g G^T) * (B^T d B)) A, summed over channels before A
//
// Each 2 x 2 points of the result come from a tile d of 4 x 4 points of the input in 16
// multiplications a channel and output instead of 36. For all tiles together these are 16 matrix
// products, one for each of the 4 x 4 frequencies, by the tiles of gemm.h. A block of image tiles
// stays in the second-level cache.
//
// The order of additions differs from that of a direct convolution, so bits differ. Errors are not
// larger: a sum has one term for each channel, a direct sum nine. But each input of a tile enters
// all results of the tile, and subtraction removes it from most of them. An input that is infinite,
// NaN or above 2^41 (possibly above 2^36) would absorb others or overflow a sum, so such tiles are
// computed directly. The direct computation recovers the weights from the transformed ones: with
// exact signs and zeros, and an error of one rounding of the kernel's largest weight.
// winograd_accepts() refuses weights that are infinite, NaN or above 2^50. Conv2d (conv.h) plans
// and calls these functions; callers use Conv2d.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

/// True if Winograd's algorithm supports the convolution on this set, and is faster.
bool winograd_is_faster(const Conv2dParams& params, size_t batch, ImageSize input,
                        InstructionSet set);
bool winograd_accepts(const Conv2dParams& params, const ConvWeights& weights);

size_t winograd_packed_bytes(const Conv2dParams& params, InstructionSet set);
void pack_winograd(const Conv2dParams& params, const ConvWeights& weights, float* packed,
                   Threads& threads, InstructionSet set);
size_t winograd_scratch_bytes(const Conv2dParams& params, size_t batch, ImageSize input,
                              size_t threads, InstructionSet set);
void winograd(const Conv2dParams& params, const Conv2dCall& call, Threads& threads,
              InstructionSet set);

}  // namespace executorch::kernels::engine
