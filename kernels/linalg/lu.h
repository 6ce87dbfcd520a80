// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The factorization P A = L U by Gaussian elimination with row exchanges, as LAPACK's getrf.
#pragma once

#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {

/// L (below the diagonal, with ones on it) and U in one matrix. pivots: row i was exchanged with
/// row pivots(i) - 1. info: 0, or the first i with U(i - 1, i - 1) = 0.
template <typename T>
struct Lu {
  Matrix<T> factors;
  Pivots pivots;
  int32_t info = 0;
  int exchanges = 0;  // of different rows

  /// `matrix` may have any shape. Without `pivot` no rows are exchanged.
  explicit Lu(Matrix<T> matrix, bool pivot = true);

  /// The solution of A x = b, or of A^T x = b or A^H x = b.
  enum class Of { A, Transpose, Adjoint };
  Matrix<T> solve(const Matrix<T>& b, Of of = Of::A) const;
};

/// The matrix P of A = P L U for row exchanges `pivots`.
template <typename T>
Matrix<T> permutation(const Pivots& pivots, int64_t rows);

}  // namespace executorch::kernels::linalg
