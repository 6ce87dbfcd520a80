// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Max pooling of float32 with AVX. XNNPACK's own, of four channels at once, is all that it has for
// x86; it takes twice the time. A NaN in a window is the result, as in PyTorch; of zeros of either
// sign, the first.
#pragma once

#include <stddef.h>

union xnn_f32_minmax_params;

/// The signature of XNNPACK's microkernel of 9 elements, then 8 more at a time.
void executorch_f32_max_pooling_avx(size_t points, size_t window, size_t channels,
                                    const float** input, size_t input_offset, float* output,
                                    size_t input_increment, size_t output_increment,
                                    const union xnn_f32_minmax_params* params);
