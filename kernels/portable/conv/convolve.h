// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution with the instruction set as an argument: the rows of the portable and of the
// optimized library are this function with different tiles.
#pragma once

#include <executorch/kernels/portable/conv/geometry.h>
#include <executorch/kernels/portable/gemm/tiles.h>

namespace executorch::kernels::portable {

/// aten::convolution in one to three spatial dimensions, with or without a batch dimension:
/// ordinary, transposed, grouped, depthwise, dilated. Any dtype but bool, the same for all tensors;
/// 16-bit floats are summed in float32. Tensors may have any dim order; it is fast where input and
/// output agree on contiguous or channels_last. Fails the context with InvalidArgument on arguments
/// that do not fit together.
void convolve(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& input,
              const Tensor& weight, const std::optional<Tensor>& bias,
              const ConvArguments& arguments, Tensor& out);

}  // namespace executorch::kernels::portable
