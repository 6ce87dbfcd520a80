// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix product operators with a function for float32 as an argument: the portable library
// registers them without one, the optimized library with one.
//
// All take any dtype but bool, the same for operands and result; 16-bit floats are summed in
// float32, integers wrap. An inner dimension of size 0 gives zeros. They fail the context with
// InvalidArgument on other dtypes and on sizes that do not fit together.
#pragma once

#include <executorch/kernels/loops/dtype/cast.h>
#include <executorch/kernels/loops/dtype/types.h>
#include <executorch/kernels/portable/gemm/matrix.h>

namespace executorch::kernels::portable {

/// alpha * (left @ right) + beta * addend, addend broadcast to the result; a beta of 0 ignores it,
/// including NaN.
struct Addend {
  const Tensor* tensor = nullptr;
  Scalar beta = Scalar(int64_t(1));
  Scalar alpha = Scalar(int64_t(1));
};

/// Matrices [batch, rows, columns].
struct Batch {
  MatrixView view;
  int64_t batch_stride;
  int64_t batch, rows, columns;
};

/// out = alpha * (left @ right) + beta * addend; without addend if its data is null.
struct Product {
  Batch left, right, addend, out;
  Scalar alpha, beta;
};

/// Computes a product of float32, float16 or bfloat16. Returns false, without writing, for calls
/// that the portable loops must compute. May be null.
using FloatProduct = bool (*)(KernelRuntimeContext& ctx, const Product& product);

template <class T>
T number(const Scalar& scalar) {
  if (scalar.isFloatingPoint()) return cast<T>(scalar.to<double>());
  return cast<T>(scalar.isBoolean() ? int64_t(scalar.to<bool>()) : scalar.to<int64_t>());
}

/// out[m, n] from left[m, k] and right[groups, k, n], or [groups, n, k] if right_transposed: the
/// rows from ends[g - 1] to ends[g] are multiplied by right[g], rows after the last end
/// are 0. ends: int32 or int64, never decreasing, from 0 to m.
void grouped_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                     const Tensor& right, const Tensor& ends, bool right_transposed, Tensor& out);
/// out[m, n] from left[m, k] and right[k, n].
void matrix_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out);
/// out[b, m, n] from left[b, m, k] and right[b, k, n].
void batched_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                     const Tensor& right, const Addend& addend, Tensor& out);
/// out[m] from left[m, k] and right[k].
void vector_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out);
/// out[..., n] from input[..., k], weight[n, k] and bias[n].
void linear_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& input,
                    const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out);
/// out[] from left[k] and right[k].
void inner_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                   const Tensor& right, Tensor& out);

}  // namespace executorch::kernels::portable
