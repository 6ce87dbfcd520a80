// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/portable/conv/convolve.h>

namespace executorch::kernels::optimized {

Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, ArrayRef<int64_t> stride,
                        ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool transposed,
                        ArrayRef<int64_t> output_padding, int64_t groups, Tensor& out) {
  portable::convolve(ctx, isa().gemm, input, weight, bias,
                     {stride, padding, dilation, transposed, output_padding, groups}, out);
  return out;
}

}  // namespace executorch::kernels::optimized
