// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/gemm/matmul.h>

namespace executorch::kernels::portable {

Tensor& mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  matrix_product(ctx, plain_gemm_tiles(), self, mat2, {}, out);
  return out;
}

Tensor& addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1,
                  const Tensor& mat2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  matrix_product(ctx, plain_gemm_tiles(), mat1, mat2, {&self, beta, alpha}, out);
  return out;
}

Tensor& bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  batched_product(ctx, plain_gemm_tiles(), self, mat2, {}, out);
  return out;
}

Tensor& baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1,
                    const Tensor& batch2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  batched_product(ctx, plain_gemm_tiles(), batch1, batch2, {&self, beta, alpha}, out);
  return out;
}

Tensor& mv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& vec, Tensor& out) {
  vector_product(ctx, plain_gemm_tiles(), self, vec, {}, out);
  return out;
}

Tensor& addmv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat,
                  const Tensor& vec, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  vector_product(ctx, plain_gemm_tiles(), mat, vec, {&self, beta, alpha}, out);
  return out;
}

Tensor& dot_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor, Tensor& out) {
  inner_product(ctx, plain_gemm_tiles(), self, tensor, out);
  return out;
}

}  // namespace executorch::kernels::portable
