// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Singular values and vectors.
#include <Eigen/SVD>

#include <algorithm>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/iterations.h>

namespace executorch::kernels::linalg {

std::tuple<Tensor&, Tensor&, Tensor&> _linalg_svd_u(KernelRuntimeContext& ctx, const Tensor& a,
                                                    bool full_matrices, bool compute_uv,
                                                    std::optional<std::string_view> /*driver*/,
                                                    Tensor& u, Tensor& s, Tensor& vh) {
  const std::tuple<Tensor&, Tensor&, Tensor&> out(u, s, vh);
  if (!expect_matrices(ctx, "A", a)) return out;
  const Batch items(a, 2);
  const Shape batch = items.batch();
  const ScalarType dtype = a.scalar_type();
  const int64_t m = items.rows(), n = items.columns(), k = std::min(m, n);
  const int64_t left = full_matrices ? m : k, right = full_matrices ? n : k;
  if (!prepare(ctx, "S", s, real_dtype(dtype), batch, {k}) ||
      !(compute_uv ? prepare(ctx, "U", u, dtype, batch, {m, left}) &&
                         prepare(ctx, "Vh", vh, dtype, batch, {right, n})
                   : prepare(ctx, "U", u, dtype, Shape(), {0}) &&
                         prepare(ctx, "Vh", vh, dtype, Shape(), {0}))) {
    return out;
  }
  unsigned wanted = 0;
  if (compute_uv) {
    wanted = full_matrices ? Eigen::ComputeFullU | Eigen::ComputeFullV
                           : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&u, &s, &vh}); i < count; ++i) {
      if (k == 0) {  // Any orthogonal U and V fit an empty matrix; use identities.
        if (compute_uv) {
          Batch(u, 2).store(i, Matrix<T>(Matrix<T>::Identity(m, left)));
          Batch(vh, 2).store(i, Matrix<T>(Matrix<T>::Identity(right, n)));
        }
        continue;
      }
      const Matrix<T> matrix = items.load<T>(batch, i);
      if (!expect_finite(ctx, "linalg.svd", matrix)) return;
      const Eigen::BDCSVD<Matrix<T>> solver(matrix, wanted);
      if (!expect_success(ctx, "linalg.svd", solver.info())) return;
      Batch(s, 1).store(i, column(solver.singularValues()));
      if (compute_uv) {
        Batch(u, 2).store(i, Matrix<T>(solver.matrixU()));
        Batch(vh, 2).store(i, Matrix<T>(solver.matrixV().adjoint()));
      }
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
