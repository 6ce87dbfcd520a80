// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Orthogonal (unitary) matrices as products of Householder reflections I - tau v v^H, in LAPACK's
// form: v has a one on the diagonal, its rest lies below the diagonal.
#include <algorithm>

#include <executorch/kernels/linalg/NativeFunctions.h>
#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {
namespace {

/// Replaces `matrix` by R, with the vectors v below it. Returns the factors tau.
template <typename T>
Vector<T> reflect(Matrix<T>& matrix) {
  const Eigen::Index count = std::min(matrix.rows(), matrix.cols());
  Vector<T> tau(count);
  Vector<T> scratch(matrix.cols());
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index rows = matrix.rows() - i, columns = matrix.cols() - i - 1;
    T factor;
    double beta = 0;
    matrix.col(i).tail(rows).makeHouseholderInPlace(factor, beta);
    matrix(i, i) = beta;
    // Eigen's reflection H maps x to beta e. LAPACK's, with the same v, is its adjoint.
    tau(i) = Eigen::numext::conj(factor);
    if (columns > 0) {
      matrix.bottomRightCorner(rows, columns)
          .applyHouseholderOnTheLeft(matrix.col(i).tail(rows - 1), factor, scratch.data());
    }
  }
  return tau;
}

/// x = Q x for Q = H_0 H_1 … of `vectors` and `tau`, or Q^H x.
template <typename T>
void apply(const Matrix<T>& vectors, const Vector<T>& tau, bool adjoint, Matrix<T>& x) {
  Vector<T> scratch(x.cols());
  for (Eigen::Index n = 0; n < tau.size(); ++n) {
    const Eigen::Index i = adjoint ? n : tau.size() - 1 - n;
    const Eigen::Index rows = x.rows() - i;
    const Vector<T> rest = vectors.col(i).tail(rows - 1);
    x.bottomRows(rows).applyHouseholderOnTheLeft(
        rest, adjoint ? T(Eigen::numext::conj(tau(i))) : tau(i), scratch.data());
  }
}

template <typename T>
Vector<T> as_vector(const Matrix<T>& matrix) {
  return matrix.col(0);
}

}  // namespace

std::tuple<Tensor&, Tensor&> geqrf_a(KernelRuntimeContext& ctx, const Tensor& self, Tensor& a,
                                     Tensor& tau) {
  const std::tuple<Tensor&, Tensor&> out(a, tau);
  if (!expect_matrices(ctx, "self", self)) return out;
  const Batch items(self, 2);
  const Shape batch = items.batch();
  const ScalarType dtype = self.scalar_type();
  if (!prepare(ctx, "a", a, dtype, batch, {items.rows(), items.columns()}) ||
      !prepare(ctx, "tau", tau, dtype, batch, {std::min(items.rows(), items.columns())})) {
    return out;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&a, &tau}); i < count; ++i) {
      Matrix<T> matrix = items.load<T>(batch, i);
      const Matrix<T> factors = reflect(matrix);
      Batch(a, 2).store(i, matrix);
      Batch(tau, 1).store(i, factors);
    }
  });
  return out;
}

std::tuple<Tensor&, Tensor&> linalg_qr_out(KernelRuntimeContext& ctx, const Tensor& a,
                                           std::string_view mode, Tensor& q, Tensor& r) {
  const std::tuple<Tensor&, Tensor&> out(q, r);
  const bool wants_q = mode != "r", complete = mode == "complete";
  if (!expect_matrices(ctx, "A", a) ||
      !ET_EXPECT(ctx, mode == "r" || complete || mode == "reduced",
                 "mode: expected reduced, complete or r, found %.*s", static_cast<int>(mode.size()),
                 mode.data())) {
    return out;
  }
  const Batch items(a, 2);
  const Shape batch = items.batch();
  const ScalarType dtype = a.scalar_type();
  const int64_t m = items.rows(), n = items.columns(), k = complete ? m : std::min(m, n);
  if (!(wants_q ? prepare(ctx, "Q", q, dtype, batch, {m, k})
                : prepare(ctx, "Q", q, dtype, Shape(), {0})) ||
      !prepare(ctx, "R", r, dtype, batch, {k, n})) {
    return out;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&q, &r}); i < count; ++i) {
      Matrix<T> matrix = items.load<T>(batch, i);
      const Vector<T> tau = reflect(matrix);
      if (wants_q) {
        Matrix<T> product = Matrix<T>::Identity(m, k);
        apply(matrix, tau, false, product);
        Batch(q, 2).store(i, product);
      }
      matrix.template triangularView<Eigen::StrictlyLower>().setZero();
      Batch(r, 2).store(i, Matrix<T>(matrix.topRows(k)));
    }
  });
  return out;
}

Tensor& linalg_householder_product_out(KernelRuntimeContext& ctx, const Tensor& input,
                                       const Tensor& tau, Tensor& out) {
  if (!expect_matrices(ctx, "input", input) || !expect_matrices(ctx, "tau", tau, 1) ||
      !expect_same_dtype(ctx, "input", input, "tau", tau)) {
    return out;
  }
  const Batch items(input, 2), factors(tau, 1);
  const Shape batch = items.batch();
  const int64_t m = items.rows(), n = items.columns();
  if (!ET_EXPECT(ctx, m >= n && factors.rows() <= n && factors.batch() == batch,
                 "input and tau: expected [*, m, n] and [*, k] with m >= n >= k, found %s and %s",
                 ShapeText(input).text, ShapeText(tau).text) ||
      !prepare(ctx, "out", out, input.scalar_type(), batch, {m, n})) {
    return out;
  }
  visit_numbers(ctx, input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&out}); i < count; ++i) {
      Matrix<T> product = Matrix<T>::Identity(m, n);
      apply(items.load<T>(batch, i), as_vector(factors.load<T>(batch, i)), false, product);
      Batch(out, 2).store(i, product);
    }
  });
  return out;
}

Tensor& ormqr_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& input2,
                  const Tensor& input3, bool left, bool transpose, Tensor& out) {
  if (!expect_matrices(ctx, "input", self) || !expect_matrices(ctx, "tau", input2, 1) ||
      !expect_matrices(ctx, "other", input3) ||
      !expect_same_dtype(ctx, "input", self, "tau", input2) ||
      !expect_same_dtype(ctx, "input", self, "other", input3)) {
    return out;
  }
  const Batch items(self, 2), factors(input2, 1), others(input3, 2);
  const Shape batch = items.batch();
  const int64_t m = items.rows();
  if (!ET_EXPECT(ctx,
                 factors.rows() <= std::min(m, items.columns()) && factors.batch() == batch &&
                     others.batch() == batch && (left ? others.rows() : others.columns()) == m,
                 "input, tau and other: expected sizes that match, found %s, %s and %s",
                 ShapeText(self).text, ShapeText(input2).text, ShapeText(input3).text) ||
      !prepare(ctx, "out", out, self.scalar_type(), batch, {others.rows(), others.columns()})) {
    return out;
  }
  visit_numbers(ctx, self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&out}); i < count; ++i) {
      const Matrix<T> vectors = items.load<T>(batch, i);
      const Vector<T> tau = as_vector(factors.load<T>(batch, i));
      Matrix<T> x = others.load<T>(batch, i);
      if (!left) x = Matrix<T>(x.adjoint());  // x Q = (Q^H x^H)^H
      apply(vectors, tau, left == transpose, x);
      if (!left) x = Matrix<T>(x.adjoint());
      Batch(out, 2).store(i, x);
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
