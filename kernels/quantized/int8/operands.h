// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Argument checks of operators on int8 that replace dequantize, compute, quantize.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/quantized/int8/integer_loops.h>

namespace executorch::kernels::quantized {

/// The tensor is of int8.
bool expect_int8(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);

/// The limits are int8 in order, and so is the zero point.
bool expect_limits(KernelRuntimeContext& ctx, int64_t out_zero, int64_t out_min, int64_t out_max);

/// The zero point of the input is int8.
bool expect_input_zero(KernelRuntimeContext& ctx, int64_t input_zero);

/// Weights [channels, ...] of int8, row-major, of at most kMaxTerms terms each; scales and offsets
/// of float32, one for each channel.
bool expect_weights(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                    const Tensor& offsets);

/// Weights of `channels` channels in any layout, of at most `max_terms` terms each; the rest as
/// above.
bool expect_channels(KernelRuntimeContext& ctx, const Tensor& weight, int64_t channels,
                     int64_t max_terms, const Tensor& scales, const Tensor& offsets);

}  // namespace executorch::kernels::quantized
