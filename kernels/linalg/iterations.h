// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Conditions of algorithms that iterate until they converge.
#pragma once

#include <Eigen/Core>

#include <executorch/kernels/linalg/matrices.h>

namespace executorch::kernels::linalg {

/// Iterations end for finite numbers only.
template <typename T>
bool expect_finite(KernelRuntimeContext& ctx, const char* what, const Matrix<T>& matrix) {
  return ET_EXPECT(ctx, matrix.allFinite(),
                   "%s: the algorithm does not converge, because a matrix has NaN or infinity",
                   what);
}

inline bool expect_success(KernelRuntimeContext& ctx, const char* what,
                           Eigen::ComputationInfo info) {
  return ET_EXPECT(ctx, info == Eigen::Success, "%s: the algorithm did not converge", what);
}

/// Eigenvalues or singular values as a matrix of one column.
inline Matrix<double> column(const RealVector& values) { return values; }

}  // namespace executorch::kernels::linalg
