// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution with a function for float32 as an argument: the portable library registers it without
// one, the optimized library with one.
#pragma once

#include <executorch/kernels/portable/conv/geometry.h>

namespace executorch::kernels::portable {

/// Computes a checked convolution of float32, float16 or bfloat16. Returns false, without writing,
/// for calls that the portable loops must compute. Null for none.
using FloatConvolution = bool (*)(KernelRuntimeContext& ctx, const ConvGeometry& geometry,
                                  const Tensor& input, const Tensor& weight,
                                  const std::optional<Tensor>& bias, Tensor& out);

/// aten::convolution in one to three spatial dimensions, with or without a batch dimension:
/// ordinary, transposed, grouped, depthwise, dilated. Any dtype but bool, the same for all tensors;
/// 16-bit floats are summed in float32. Tensors may have any dim order; it is fast where input and
/// output agree on contiguous or channels_last. Fails the context with InvalidArgument on arguments
/// that do not fit together.
void convolve(KernelRuntimeContext& ctx, FloatConvolution fast, const Tensor& input,
              const Tensor& weight, const std::optional<Tensor>& bias,
              const ConvArguments& arguments, Tensor& out);

/// Same as above, for checked arguments and an output of the right sizes.
void convolve(KernelRuntimeContext& ctx, FloatConvolution fast, const ConvGeometry& geometry,
              const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
              Tensor& out);

/// Outputs for the gradients of aten::convolution; null for those not requested. All tensors have
/// the same floating dtype.
struct ConvGradients {
  Tensor* input;
  Tensor* weight;
  Tensor* bias;
};
void convolve_backward(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& input,
                       const Tensor& weight, const ConvArguments& arguments,
                       const ConvGradients& gradients);

}  // namespace executorch::kernels::portable
