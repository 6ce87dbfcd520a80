// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Eigenvalues and singular values, and functions of matrices.
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <unsupported/Eigen/MatrixFunctions>

#include <algorithm>
#include <complex>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {
namespace {

ScalarType complex_dtype(ScalarType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == ScalarType::Float ? ScalarType::ComplexFloat : ScalarType::ComplexDouble;
}

/// Iterations end for finite numbers only.
template <typename T>
bool expect_finite(KernelRuntimeContext& ctx, const char* what, const Matrix<T>& matrix) {
  return ET_EXPECT(ctx, matrix.allFinite(),
                   "%s: the algorithm does not converge, because a matrix has NaN or infinity",
                   what);
}

bool expect_success(KernelRuntimeContext& ctx, const char* what, Eigen::ComputationInfo info) {
  return ET_EXPECT(ctx, info == Eigen::Success, "%s: the algorithm did not converge", what);
}

Matrix<double> column(const RealVector& values) { return values; }

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
    for (int64_t i = 0; i < batch.numel(); ++i) {
      if (k == 0) {  // U and V of an empty matrix are any orthogonal ones.
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
      // As eager, whose squarings spread a NaN to every element.
      Batch(out, 2).store(
          i, matrix.allFinite()
                 ? Matrix<T>(matrix.exp())
                 : Matrix<T>(Matrix<T>::Constant(n, n, std::numeric_limits<double>::quiet_NaN())));
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
