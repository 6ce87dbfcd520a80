// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Triangular matrices: the factor of a positive-definite one, and solutions by substitution.
#include <cmath>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {
namespace {

/// Turns the lower triangle of `matrix` into L with L L^H = matrix, zeros above. Returns 0, or the
/// order of the first leading minor that is not positive definite.
template <typename T>
int32_t cholesky(Matrix<T>& matrix) {
  int32_t info = 0;
  for (Eigen::Index i = 0; i < matrix.rows() && info == 0; ++i) {
    const Eigen::Index below = matrix.rows() - i - 1;
    const double rest = std::real(matrix(i, i)) - matrix.row(i).head(i).squaredNorm();
    if (!(rest > 0)) {
      info = static_cast<int32_t>(i + 1);
      break;
    }
    matrix(i, i) = std::sqrt(rest);
    matrix.col(i).tail(below).noalias() -=
        matrix.block(i + 1, 0, below, i) * matrix.row(i).head(i).adjoint();
    matrix.col(i).tail(below) /= matrix(i, i);
  }
  matrix.template triangularView<Eigen::StrictlyUpper>().setZero();
  return info;
}

template <int Kind, typename T>
void substitute(const Matrix<T>& a, bool left, Matrix<T>& x) {
  if (left) {
    a.template triangularView<Kind>().solveInPlace(x);
  } else {
    a.template triangularView<Kind>().template solveInPlace<Eigen::OnTheRight>(x);
  }
}

}  // namespace

std::tuple<Tensor&, Tensor&> linalg_cholesky_ex_l(KernelRuntimeContext& ctx, const Tensor& self,
                                                  bool upper, bool check_errors, Tensor& l,
                                                  Tensor& info) {
  const std::tuple<Tensor&, Tensor&> out(l, info);
  if (!expect_square(ctx, "self", self)) return out;
  const Batch items(self, 2);
  const Shape batch = items.batch();
  if (!prepare(ctx, "L", l, self.scalar_type(), batch, {items.rows(), items.rows()}) ||
      !prepare(ctx, "info", info, ScalarType::Int, batch, {})) {
    return out;
  }
  visit_numbers(ctx, self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < batch.numel(); ++i) {
      Matrix<T> factor = items.load<T>(batch, i);
      if (upper) factor = Matrix<T>(factor.adjoint());
      const int32_t error = cholesky(factor);
      if (upper) factor = Matrix<T>(factor.adjoint());
      Batch(l, 2).store(i, factor);
      Batch(info, 0).store_integer(i, error);
      if (check_errors &&
          !ET_EXPECT(ctx, error == 0,
                     "linalg.cholesky_ex: the leading minor of order %d is not positive definite",
                     static_cast<int>(error))) {
        return;
      }
    }
  });
  return out;
}

Tensor& linalg_solve_triangular_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& b,
                                    bool upper, bool left, bool unitriangular, Tensor& out) {
  if (!expect_square(ctx, "A", self) || !expect_matrices(ctx, "B", b) ||
      !expect_same_dtype(ctx, "A", self, "B", b)) {
    return out;
  }
  const Batch items(self, 2), right(b, 2);
  Shape batch;
  if (!ET_EXPECT(ctx, (left ? right.rows() : right.columns()) == items.rows(),
                 "A and B: expected sizes that match, found %s and %s", ShapeText(self).text,
                 ShapeText(b).text) ||
      !common_batch(ctx, items.batch(), right.batch(), &batch) ||
      !prepare(ctx, "out", out, b.scalar_type(), batch, {right.rows(), right.columns()})) {
    return out;
  }
  visit_numbers(ctx, b.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&out}); i < count; ++i) {
      const Matrix<T> a = items.load<T>(batch, i);
      Matrix<T> x = right.load<T>(batch, i);
      if (upper) {
        unitriangular ? substitute<Eigen::UnitUpper>(a, left, x)
                      : substitute<Eigen::Upper>(a, left, x);
      } else {
        unitriangular ? substitute<Eigen::UnitLower>(a, left, x)
                      : substitute<Eigen::Lower>(a, left, x);
      }
      Batch(out, 2).store(i, x);
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
