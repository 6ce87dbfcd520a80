// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of matrices.
#include <unsupported/Eigen/MatrixFunctions>

#include <limits>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {

Tensor& linalg_matrix_exp_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!expect_square(ctx, "self", self)) return out;
  const Batch items(self, 2);
  const Shape batch = items.batch();
  const int64_t n = items.rows();
  if (!prepare(ctx, "out", out, self.scalar_type(), batch, {n, n})) return out;
  visit_numbers(ctx, self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; n != 0 && i < batch.numel(); ++i) {
      const Matrix<T> matrix = items.load<T>(batch, i);
      // As in eager, whose squarings spread a NaN to every element.
      Batch(out, 2).store(
          i, matrix.allFinite()
                 ? Matrix<T>(matrix.exp())
                 : Matrix<T>(Matrix<T>::Constant(n, n, std::numeric_limits<double>::quiet_NaN())));
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
