// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Argument checks of operators on int8 that replace dequantize, compute, quantize.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/quantized/int8/integer_loops.h>

namespace executorch::kernels::quantized {

// These functions fail the context, and return false, unless the arguments are as described.

/// The tensor has the dtype int8.
bool expect_int8(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);

/// The limits are int8 and in order; the zero point is int8.
bool expect_limits(KernelRuntimeContext& ctx, int64_t out_zero, int64_t out_min, int64_t out_max);

/// The zero point of the input is int8.
bool expect_input_zero(KernelRuntimeContext& ctx, int64_t input_zero);

/// The weight is int8 [channels, ...], row-major, with at most kMaxTerms elements in each channel.
/// Scales and offsets are float32, one for each channel.
bool expect_weights(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                    const Tensor& offsets);

/// The weight is row-major, with `channels` channels in any dimension and at most `max_terms`
/// elements in each.
/// Dtypes, scales and offsets: see expect_weights().
bool expect_channels(KernelRuntimeContext& ctx, const Tensor& weight, int64_t channels,
                     int64_t max_terms, const Tensor& scales, const Tensor& offsets);

}  // namespace executorch::kernels::quantized
