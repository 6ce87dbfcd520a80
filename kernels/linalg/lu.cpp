// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators by Gaussian elimination: factors, determinants, inverses, solutions.
#include <executorch/kernels/linalg/lu.h>

#include <cmath>
#include <utility>
#include <vector>

#include <executorch/kernels/linalg/NativeFunctions.h>

namespace executorch::kernels::linalg {

template <typename T>
Lu<T>::Lu(Matrix<T> matrix, bool pivot) : factors(std::move(matrix)) {
  const Eigen::Index count = std::min(factors.rows(), factors.cols());
  pivots.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    Eigen::Index largest = 0;
    if (pivot) {
      // Compare complex numbers by the sum of their parts' magnitudes, as LAPACK does.
      const auto column = factors.col(i).tail(factors.rows() - i);
      (column.real().cwiseAbs() + column.imag().cwiseAbs()).maxCoeff(&largest);
    }
    pivots(i) = static_cast<int32_t>(i + largest + 1);
    if (largest != 0) {
      factors.row(i).swap(factors.row(i + largest));
      ++exchanges;
    }
    if (factors(i, i) == T(0)) {
      if (info == 0) info = static_cast<int32_t>(i + 1);
      continue;
    }
    const Eigen::Index below = factors.rows() - i - 1, right = factors.cols() - i - 1;
    factors.col(i).tail(below) /= factors(i, i);
    factors.bottomRightCorner(below, right).noalias() -=
        factors.col(i).tail(below) * factors.row(i).tail(right);
  }
}

template <typename T>
Matrix<T> Lu<T>::solve(const Matrix<T>& b, Of of) const {
  Matrix<T> x = b;
  const Eigen::Index count = pivots.size();
  if (of == Of::A) {
    for (Eigen::Index i = 0; i < count; ++i) x.row(i).swap(x.row(pivots(i) - 1));
    factors.template triangularView<Eigen::UnitLower>().solveInPlace(x);
    factors.template triangularView<Eigen::Upper>().solveInPlace(x);
    return x;
  }
  const Matrix<T> turned = of == Of::Adjoint ? Matrix<T>(factors.adjoint()) : factors.transpose();
  turned.template triangularView<Eigen::Lower>().solveInPlace(x);
  turned.template triangularView<Eigen::UnitUpper>().solveInPlace(x);
  for (Eigen::Index i = count; i-- > 0;) x.row(i).swap(x.row(pivots(i) - 1));
  return x;
}

template <typename T>
Matrix<T> permutation(const Pivots& pivots, int64_t rows) {
  Matrix<T> p = Matrix<T>::Identity(rows, rows);
  for (Eigen::Index i = 0; i < pivots.size(); ++i) p.col(i).swap(p.col(pivots(i) - 1));
  return p;
}

template struct Lu<double>;
template struct Lu<Complex>;

namespace {

/// Prepares LU [*, m, n] and pivots [*, min(m, n)] for matrices of A's shape.
bool prepare_factors(KernelRuntimeContext& ctx, const Tensor& a, Tensor& lu, Tensor& pivots) {
  const Batch items(a, 2);
  return prepare(ctx, "LU", lu, a.scalar_type(), items.batch(), {items.rows(), items.columns()}) &&
         prepare(ctx, "pivots", pivots, ScalarType::Int, items.batch(),
                 {std::min(items.rows(), items.columns())});
}

/// Factorizes each matrix of A, writes the factors and calls use(index, factors).
template <typename T, typename Use>
void factorize(const Tensor& a, Tensor& lu, Tensor& pivots, const Use& use, bool pivot = true) {
  const Batch items(a, 2), factors(lu, 2), exchanged(pivots, 1);
  const Shape batch = items.batch();
  for (int64_t i = 0; i < batch.numel(); ++i) {
    Lu<T> factorized(items.load<T>(batch, i), pivot);
    factors.store(i, factorized.factors);
    exchanged.store_integers(i, factorized.pivots);
    use(i, std::move(factorized));
  }
}

template <typename T>
Matrix<T> number(const T& value) {
  return Matrix<T>::Constant(1, 1, value);
}

/// The first `count` columns of the factors, as L.
template <typename T>
Matrix<T> lower_of(const Matrix<T>& factors, int64_t count) {
  Matrix<T> lower = factors.leftCols(count);
  lower.template triangularView<Eigen::StrictlyUpper>().setZero();
  lower.diagonal().setOnes();
  return lower;
}

/// The first `count` rows of the factors, as U.
template <typename T>
Matrix<T> upper_of(const Matrix<T>& factors, int64_t count) {
  Matrix<T> upper = factors.topRows(count);
  upper.template triangularView<Eigen::StrictlyLower>().setZero();
  return upper;
}

/// Row exchanges that come from a file or a caller: 1 to the number of rows.
bool expect_pivots(KernelRuntimeContext& ctx, const Pivots& pivots, int64_t rows) {
  for (Eigen::Index i = 0; i < pivots.size(); ++i) {
    if (!ET_EXPECT(ctx, pivots(i) >= 1 && pivots(i) <= rows,
                   "pivots: expected rows 1 to %d, found %d", static_cast<int>(rows),
                   static_cast<int>(pivots(i)))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> linalg_lu_factor_ex_out(KernelRuntimeContext& ctx,
                                                              const Tensor& a, bool pivot,
                                                              bool check_errors, Tensor& lu,
                                                              Tensor& pivots, Tensor& info) {
  const std::tuple<Tensor&, Tensor&, Tensor&> out(lu, pivots, info);
  if (!expect_matrices(ctx, "A", a) || !prepare_factors(ctx, a, lu, pivots) ||
      !prepare(ctx, "info", info, ScalarType::Int, Batch(a, 2).batch(), {})) {
    return out;
  }
  visit_numbers(ctx, a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    bool regular = true;
    factorize<T>(
        a, lu, pivots,
        [&](int64_t i, const Lu<T>& factorized) {
          Batch(info, 0).store_integer(i, factorized.info);
          regular = regular &&
                    (!check_errors || expect_no_error(ctx, "linalg.lu_factor_ex", factorized.info));
        },
        pivot);
  });
  return out;
}

std::tuple<Tensor&, Tensor&, Tensor&> lu_unpack_out(KernelRuntimeContext& ctx, const Tensor& lu,
                                                    const Tensor& pivots, bool unpack_data,
                                                    bool unpack_pivots, Tensor& p, Tensor& l,
                                                    Tensor& u) {
  const std::tuple<Tensor&, Tensor&, Tensor&> out(p, l, u);
  if (!expect_matrices(ctx, "LU_data", lu) ||
      !expect_dtype(ctx, "LU_pivots", pivots, ScalarType::Int) ||
      !ET_EXPECT(ctx, pivots.dim() == lu.dim() - 1, "LU_pivots: expected rank %d, found %d",
                 static_cast<int>(lu.dim() - 1), static_cast<int>(pivots.dim()))) {
    return out;
  }
  const Batch factors(lu, 2), exchanged(pivots, 1);
  const Shape batch = factors.batch();
  const ScalarType dtype = lu.scalar_type();
  const int64_t m = factors.rows(), n = factors.columns(), k = std::min(m, n);
  if (!ET_EXPECT(ctx, exchanged.batch() == batch && exchanged.rows() == k,
                 "LU_pivots: expected %d for each matrix of sizes %s, found sizes %s",
                 static_cast<int>(k), ShapeText(lu).text, ShapeText(pivots).text)) {
    return out;
  }
  const auto prepare_part = [&](const char* name, Tensor& part, bool wanted, int64_t rows,
                                int64_t columns) {
    return wanted ? prepare(ctx, name, part, dtype, batch, {rows, columns})
                  : prepare(ctx, name, part, dtype, Shape(), {0});
  };
  if (!prepare_part("P", p, unpack_pivots, m, m) || !prepare_part("L", l, unpack_data, m, k) ||
      !prepare_part("U", u, unpack_data, k, n)) {
    return out;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&p, &l, &u}); i < count; ++i) {
      const Matrix<T> matrix = factors.load<T>(batch, i);
      if (unpack_pivots) {
        const Pivots rows = exchanged.load_pivots(batch, i);
        if (!expect_pivots(ctx, rows, m)) return;
        Batch(p, 2).store(i, permutation<T>(rows, m));
      }
      if (unpack_data) {
        Batch(l, 2).store(i, lower_of(matrix, k));
        Batch(u, 2).store(i, upper_of(matrix, k));
      }
    }
  });
  return out;
}

std::tuple<Tensor&, Tensor&, Tensor&> linalg_lu_out(KernelRuntimeContext& ctx, const Tensor& a,
                                                    bool pivot, Tensor& p, Tensor& l, Tensor& u) {
  const std::tuple<Tensor&, Tensor&, Tensor&> out(p, l, u);
  if (!expect_matrices(ctx, "A", a)) return out;
  const Batch items(a, 2);
  const Shape batch = items.batch();
  const ScalarType dtype = a.scalar_type();
  const int64_t m = items.rows(), n = items.columns(), k = std::min(m, n);
  if (!(pivot ? prepare(ctx, "P", p, dtype, batch, {m, m})
              : prepare(ctx, "P", p, dtype, Shape(), {0})) ||
      !prepare(ctx, "L", l, dtype, batch, {m, k}) || !prepare(ctx, "U", u, dtype, batch, {k, n})) {
    return out;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, count = count_items(batch, {&p, &l, &u}); i < count; ++i) {
      const Lu<T> factorized(items.load<T>(batch, i), pivot);
      if (pivot) Batch(p, 2).store(i, permutation<T>(factorized.pivots, m));
      Batch(l, 2).store(i, lower_of(factorized.factors, k));
      Batch(u, 2).store(i, upper_of(factorized.factors, k));
    }
  });
  return out;
}

std::tuple<Tensor&, Tensor&, Tensor&> _linalg_det_result(KernelRuntimeContext& ctx, const Tensor& a,
                                                         Tensor& result, Tensor& lu,
                                                         Tensor& pivots) {
  const std::tuple<Tensor&, Tensor&, Tensor&> out(result, lu, pivots);
  if (!expect_square(ctx, "A", a) || !prepare_factors(ctx, a, lu, pivots) ||
      !prepare(ctx, "result", result, a.scalar_type(), Batch(a, 2).batch(), {})) {
    return out;
  }
  visit_numbers(ctx, a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    factorize<T>(a, lu, pivots, [&](int64_t i, const Lu<T>& factorized) {
      const T sign = factorized.exchanges % 2 == 0 ? T(1) : T(-1);
      Batch(result, 0).store(i, number<T>(sign * factorized.factors.diagonal().prod()));
    });
  });
  return out;
}

std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> _linalg_slogdet_sign(KernelRuntimeContext& ctx,
                                                                    const Tensor& a, Tensor& sign,
                                                                    Tensor& logabsdet, Tensor& lu,
                                                                    Tensor& pivots) {
  const std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> out(sign, logabsdet, lu, pivots);
  if (!expect_square(ctx, "A", a) || !prepare_factors(ctx, a, lu, pivots)) return out;
  const Shape batch = Batch(a, 2).batch();
  if (!prepare(ctx, "sign", sign, a.scalar_type(), batch, {}) ||
      !prepare(ctx, "logabsdet", logabsdet, real_dtype(a.scalar_type()), batch, {})) {
    return out;
  }
  visit_numbers(ctx, a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    factorize<T>(a, lu, pivots, [&](int64_t i, const Lu<T>& factorized) {
      T unit = factorized.exchanges % 2 == 0 ? T(1) : T(-1);
      double logarithm = 0;
      for (Eigen::Index d = 0; d < factorized.factors.rows(); ++d) {
        const T value = factorized.factors(d, d);
        const double size = std::abs(value);
        unit = size == 0 ? T(0) : T(unit * (value / size));
        logarithm += std::log(size);
      }
      Batch(sign, 0).store(i, number<T>(unit));
      Batch(logabsdet, 0).store(i, number<double>(logarithm));
    });
  });
  return out;
}

std::tuple<Tensor&, Tensor&> linalg_inv_ex_inverse(KernelRuntimeContext& ctx, const Tensor& a,
                                                   bool check_errors, Tensor& inverse,
                                                   Tensor& info) {
  const std::tuple<Tensor&, Tensor&> out(inverse, info);
  if (!expect_square(ctx, "A", a)) return out;
  const Batch items(a, 2);
  const Shape batch = items.batch();
  const int64_t n = items.rows();
  if (!prepare(ctx, "inverse", inverse, a.scalar_type(), batch, {n, n}) ||
      !prepare(ctx, "info", info, ScalarType::Int, batch, {})) {
    return out;
  }
  visit_numbers(ctx, a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < batch.numel(); ++i) {
      const Lu<T> factorized(items.load<T>(batch, i));
      Batch(inverse, 2).store(i, factorized.solve(Matrix<T>::Identity(n, n)));
      Batch(info, 0).store_integer(i, factorized.info);
      if (check_errors && !expect_no_error(ctx, "linalg.inv_ex", factorized.info)) return;
    }
  });
  return out;
}

std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> _linalg_solve_ex_result(
    KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, bool left, bool check_errors,
    Tensor& result, Tensor& lu, Tensor& pivots, Tensor& info) {
  const std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> out(result, lu, pivots, info);
  if (!expect_square(ctx, "A", a) || !expect_matrices(ctx, "B", b, 1) ||
      !expect_same_dtype(ctx, "A", a, "B", b) || !prepare_factors(ctx, a, lu, pivots)) {
    return out;
  }
  const Batch items(a, 2);
  const int64_t n = items.rows();
  // As in eager, B holds vectors if it has one dimension, or A's batch and one dimension less.
  Shape of_vectors = items.batch();
  of_vectors.append(n);
  const bool vectors = b.dim() == 1 || (b.dim() == a.dim() - 1 && Shape(b) == of_vectors);
  const Batch right(b, vectors ? 1 : 2);
  Shape batch;
  if (!ET_EXPECT(ctx, left || !vectors,
                 "B: expected matrices where left is false, found vectors") ||
      !ET_EXPECT(ctx, (left ? right.rows() : right.columns()) == n,
                 "A and B: expected sizes that match, found %s and %s", ShapeText(a).text,
                 ShapeText(b).text) ||
      !common_batch(ctx, items.batch(), right.batch(), &batch) ||
      !prepare(ctx, "info", info, ScalarType::Int, items.batch(), {})) {
    return out;
  }
  const ScalarType dtype = a.scalar_type();
  if (!(vectors ? prepare(ctx, "result", result, dtype, batch, {n})
                : prepare(ctx, "result", result, dtype, batch, {right.rows(), right.columns()}))) {
    return out;
  }
  visit_numbers(ctx, dtype, [&](auto zero) {
    using T = decltype(zero);
    bool regular = true;
    std::vector<Lu<T>> all;
    factorize<T>(a, lu, pivots, [&](int64_t i, Lu<T>&& factorized) {
      Batch(info, 0).store_integer(i, factorized.info);
      regular =
          regular && (!check_errors || expect_no_error(ctx, "linalg.solve_ex", factorized.info));
      all.push_back(std::move(factorized));
    });
    if (!regular) return;
    const Batch solution(result, vectors ? 1 : 2);
    for (int64_t i = 0, count = count_items(batch, {&result}); i < count; ++i) {
      const Lu<T>& factorized = all[static_cast<size_t>(items.item_at(batch, i))];
      const Matrix<T> given = right.load<T>(batch, i);
      if (left) {
        solution.store(i, factorized.solve(given));
      } else {
        solution.store(
            i, Matrix<T>(factorized.solve(given.transpose(), Lu<T>::Of::Transpose).transpose()));
      }
    }
  });
  return out;
}

Tensor& linalg_lu_solve_out(KernelRuntimeContext& ctx, const Tensor& lu, const Tensor& pivots,
                            const Tensor& b, bool left, bool adjoint, Tensor& out) {
  if (!expect_square(ctx, "LU", lu) || !expect_matrices(ctx, "B", b) ||
      !expect_same_dtype(ctx, "LU", lu, "B", b) ||
      !expect_dtype(ctx, "pivots", pivots, ScalarType::Int) ||
      !ET_EXPECT(ctx, pivots.dim() == lu.dim() - 1, "pivots: expected rank %d, found %d",
                 static_cast<int>(lu.dim() - 1), static_cast<int>(pivots.dim()))) {
    return out;
  }
  const Batch factors(lu, 2), exchanged(pivots, 1), right(b, 2);
  const int64_t n = factors.rows();
  Shape batch;
  if (!ET_EXPECT(ctx,
                 exchanged.rows() == n && exchanged.batch() == factors.batch() &&
                     (left ? right.rows() : right.columns()) == n,
                 "LU, pivots and B: expected sizes that match, found %s, %s and %s",
                 ShapeText(lu).text, ShapeText(pivots).text, ShapeText(b).text) ||
      !common_batch(ctx, factors.batch(), right.batch(), &batch) ||
      !prepare(ctx, "out", out, b.scalar_type(), batch, {right.rows(), right.columns()})) {
    return out;
  }
  visit_numbers(ctx, b.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using Of = typename Lu<T>::Of;
    Lu<T> factorized{Matrix<T>()};
    for (int64_t i = 0, count = count_items(batch, {&out}); i < count; ++i) {
      factorized.factors = factors.load<T>(batch, i);
      factorized.pivots = exchanged.load_pivots(batch, i);
      if (!expect_pivots(ctx, factorized.pivots, n)) return;
      const Matrix<T> given = right.load<T>(batch, i);
      if (left) {
        Batch(out, 2).store(i, factorized.solve(given, adjoint ? Of::Adjoint : Of::A));
      } else if (adjoint) {  // x A^H = b, so A x^H = b^H
        Batch(out, 2).store(i, Matrix<T>(factorized.solve(given.adjoint()).adjoint()));
      } else {
        Batch(out, 2).store(
            i, Matrix<T>(factorized.solve(given.transpose(), Of::Transpose).transpose()));
      }
    }
  });
  return out;
}

}  // namespace executorch::kernels::linalg
