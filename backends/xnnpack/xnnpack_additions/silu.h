// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// x * sigmoid(x) in one loop, with fused multiplications where the processor has them: convolution
// nets have it behind most layers, and it takes longer than a depthwise convolution.
#pragma once

#include <stddef.h>

union xnn_unary_uparams;

#ifdef __cplusplus
extern "C" {
#endif

/// Of float32, anywhere in memory; input and output may be the same.
void executorch_silu(size_t bytes, const void* input, void* output,
                     const union xnn_unary_uparams* none);

#ifdef __cplusplus
}
#endif
