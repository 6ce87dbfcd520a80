// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions of int8 images in NHWC, one input and one output a group:
//
//   sum[y, x, c] = bias[c] + sum over ky, kx of (in[y', x', c] - zero_point) * weight[c, ky, kx]
//
// or, with some instruction sets (kernels.inc), G inputs and as many outputs:
//
//   sum[y, x, c] = bias[c] + sum over ky, kx, i < G of
//       (in[y', x', c / G * G + i] - zero_point) * weight[c, ky, kx, i]
//
// with y', x' as in conv.h, quantized as qgemm.h says: static to int8, dynamic to float32. Sums are
// of int32 and wrap. Every instruction set gives the same integers. Padding is the zero point. Any
// window, stride, dilation and number of channels. Nothing is read beyond the channels of a pixel,
// nothing written beyond those of a result. `output` must not overlap the input.
//
// Packed, as the kernel of the instruction set lays it out (QDepthwiseLayout): for each block of
// channels the initial values of its sums (int32), for each step two words or four bytes of weights
// of each channel (0 where a step has fewer taps), then scales and, for dynamic convolutions,
// biases (float32). Channels beyond the last are zeros.
//
// QConv2d (qgemm/qconv.h) plans and calls these; callers use QConv2d.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/qgemm/qconv.h>

namespace executorch::kernels::engine {

/// True if the convolution is one of this family.
bool is_qdepthwise(const Conv2dParams& params, InstructionSet set);

/// Identifies the packed form, in 14 bits.
uint32_t qdepthwise_layout(const Conv2dParams& params, InstructionSet set);
size_t qdepthwise_packed_bytes(const Conv2dParams& params, InstructionSet set);
/// Writes to memory of zeros.
void pack_qdepthwise(const Conv2dParams& params, const QConvWeights& weights,
                     const QColumns& columns, void* packed, InstructionSet set);
size_t qdepthwise_scratch_bytes(const Conv2dParams& params, size_t batch, ImageSize input,
                                size_t threads);
void qdepthwise(const Conv2dParams& params, const QConv2dCall& call, Threads& threads,
                InstructionSet set);
void dynamic_qdepthwise(const Conv2dParams& params, const DynamicQConv2dCall& call,
                        Threads& threads, InstructionSet set);

}  // namespace executorch::kernels::engine
