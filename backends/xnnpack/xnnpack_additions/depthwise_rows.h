// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions of float32, several points of a row at once, for processors with FMA3.
// XNNPACK computes point after point, and loads a number and a weight for each product. The windows
// of neighbours overlap: what is loaded once here serves as many products as the kernel is wide,
// and a weight as many as there are points. Images that lie in the caches take 0.3 to 0.5 of the
// time with 5 x 5 windows, 0.55 to 0.8 with 3 x 3; products are summed in another order.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The signature of XNNPACK's depthwise microkernels. Strides, increments and offsets are bytes.
/// `input` points at the windows' points, column after column; the next window begins
/// `input_stride` further and shares what overlaps. All but those to `zero` are moved by
/// `input_offset`. W is packed: for so many channels as the kernel has lanes their biases, then
/// their weights, point after point. `limits` are the smallest and the largest result.
typedef void executorch_depthwise_rows(size_t channels, size_t width, const float** input,
                                       const float* weights, float* output, intptr_t input_stride,
                                       size_t increment, size_t input_offset, const float* zero,
                                       const void* limits);

/// Of windows of 3 x 3, 5 x 5 and 7 x 7 points that are 1 or 2 apart. What else they are given is
/// computed by XNNPACK's, and by those of depthwise_large.h.
executorch_depthwise_rows executorch_f32_depthwise_9p16c_avx512,
    executorch_f32_depthwise_9p16c_fma3, executorch_f32_depthwise_25p16c_avx512,
    executorch_f32_depthwise_25p8c_fma3, executorch_f32_depthwise_49p16c_avx512;

#ifdef __cplusplus
}
#endif
