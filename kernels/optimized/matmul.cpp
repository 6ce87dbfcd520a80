// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix product operators with the engine's products of float32, float16 and bfloat16.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/product.h>
#include <executorch/kernels/portable/gemm/matmul.h>

namespace executorch::kernels::optimized {

using portable::batched_product;
using portable::grouped_product;
using portable::inner_product;
using portable::linear_product;
using portable::matrix_product;
using portable::vector_product;

Tensor& mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  matrix_product(ctx, multiply_floats, self, mat2, {}, out);
  return out;
}

Tensor& addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1,
                  const Tensor& mat2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  matrix_product(ctx, multiply_floats, mat1, mat2, {&self, beta, alpha}, out);
  return out;
}

Tensor& bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  batched_product(ctx, multiply_floats, self, mat2, {}, out);
  return out;
}

Tensor& baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1,
                    const Tensor& batch2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  batched_product(ctx, multiply_floats, batch1, batch2, {&self, beta, alpha}, out);
  return out;
}

Tensor& grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2,
                       const Tensor& offs, bool mat2_transposed, Tensor& out) {
  grouped_product(ctx, multiply_floats, self, mat2, offs, mat2_transposed, out);
  return out;
}

Tensor& mv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& vec, Tensor& out) {
  vector_product(ctx, multiply_floats, self, vec, {}, out);
  return out;
}

Tensor& addmv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat,
                  const Tensor& vec, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  vector_product(ctx, multiply_floats, mat, vec, {&self, beta, alpha}, out);
  return out;
}

Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, Tensor& out) {
  linear_product(ctx, multiply_floats, input, weight, bias, out);
  return out;
}

Tensor& dot_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor, Tensor& out) {
  inner_product(ctx, multiply_floats, self, tensor, out);
  return out;
}

}  // namespace executorch::kernels::optimized
