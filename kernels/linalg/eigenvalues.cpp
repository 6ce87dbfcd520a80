// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Eigenvalues and eigenvectors.
#include <Eigen/Eigenvalues>

#include <type_traits>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/iterations.h>

namespace executorch::kernels::linalg {
namespace {

ScalarType complex_dtype(ScalarType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == ScalarType::Float ? ScalarType::ComplexFloat : ScalarType::ComplexDouble;
}

}  // namespace

std::tuple<Tensor&, Tensor&> _linalg_eigh_eigenvalues(KernelRuntimeContext& ctx, const Tensor& a,
                                                      std::string_view uplo, bool compute_v,
                                                      Tensor& eigenvalues, Tensor& eigenvectors) {
  const std::tuple<Tensor&, Tensor&> out(eigenvalues, eigenvectors);
  const bool upper = uplo == "U" || uplo == "u";
  if (!expect_square(ctx, "A", a) ||
      !ET_EXPECT(ctx, upper || uplo == "L" || uplo == "l", "UPLO: expected L or U, found %.*s",
                 static_cast<int>(uplo.size()), uplo.data())) {
    return out;
  }
  const Batch items(a, 2);
  const Shape batch = items.batch();
  const int64_t n = items.rows();
  if (!prepare(ctx, "eigenvalues", eigenvalues, real_dtype(a.scalar_type()), batch, {n}) ||
      !(compute_v ? prepare(ctx, "eigenvectors", eigenvectors, a.scalar_type(), batch, {n, n})
                  : prepare(ctx, "eigenvectors", eigenvectors, a.scalar_type(), Shape(), {0}))) {
    return out;
  }
  visit_numbers(ctx, a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; n != 0 && i < batch.numel(); ++i) {
      Matrix<T> matrix = items.load<T>(batch, i);
      if (upper) matrix = Matrix<T>(matrix.adjoint());  // Eigen reads the lower triangle.
      if (!expect_finite(ctx, "linalg.eigh", matrix)) return;
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
          matrix, compute_v ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
      if (!expect_success(ctx, "linalg.eigh", solver.info())) return;
      Batch(eigenvalues, 1).store(i, column(solver.eigenvalues()));
      if (compute_v) Batch(eigenvectors, 2).store(i, Matrix<T>(solver.eigenvectors()));
    }
  });
  return out;
}

std::tuple<Tensor&, Tensor&> linalg_eig_out(KernelRuntimeContext& ctx, const Tensor& self,
                                            Tensor& eigenvalues, Tensor& eigenvectors) {
  const std::tuple<Tensor&, Tensor&> out(eigenvalues, eigenvectors);
  if (!expect_square(ctx, "self", self)) return out;
  const Batch items(self, 2);
  const Shape batch = items.batch();
  const int64_t n = items.rows();
  const ScalarType dtype = complex_dtype(self.scalar_type());
  if (!prepare(ctx, "eigenvalues", eigenvalues, dtype, batch, {n}) ||
      !prepare(ctx, "eigenvectors", eigenvectors, dtype, batch, {n, n})) {
    return out;
  }
  visit_numbers(ctx, self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using Solver = std::conditional_t<std::is_same_v<T, double>, Eigen::EigenSolver<Matrix<T>>,
                                      Eigen::ComplexEigenSolver<Matrix<T>>>;
    for (int64_t i = 0; n != 0 && i < batch.numel(); ++i) {
      const Matrix<T> matrix = items.load<T>(batch, i);
      if (!expect_finite(ctx, "linalg.eig", matrix)) return;
      const Solver solver(matrix);
      if (!expect_success(ctx, "linalg.eig", solver.info())) return;
      Batch(eigenvalues, 1).store(i, Matrix<Complex>(solver.eigenvalues()));
      Batch(eigenvectors, 2).store(i, Matrix<Complex>(solver.eigenvectors()));
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
