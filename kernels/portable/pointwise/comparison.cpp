// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators of truth values and of bits: comparisons, logic, bitwise operators and shifts.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/elementwise.h>

namespace executorch::kernels::portable {
namespace {

// Shifts by a negative number of bits or by more than there are.
int64_t shift_left(int64_t x, int64_t bits) {
  return bits < 0 || bits > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << bits);
}
int64_t shift_right(int64_t x, int64_t bits) { return x >> (bits < 0 || bits > 63 ? 63 : bits); }

}  // namespace

// A row: the operator, the overloads with a tensor and a number, its domain, its mathematics on x
// and y.
#define BINARY(NAME, TENSOR_OVERLOAD, SCALAR_OVERLOAD, DOMAIN, ...)                            \
  TENSORS(NAME, TENSOR_OVERLOAD, DOMAIN, __VA_ARGS__)                                          \
  Tensor& NAME##SCALAR_OVERLOAD(KernelRuntimeContext& ctx, const Tensor& self,                 \
                                const Scalar& other, Tensor& out) {                            \
    return elementwise(ctx, kElementwise<NAME##_math, 2, Domain::DOMAIN>, {self, other}, out); \
  }
#define TENSORS(NAME, TENSOR_OVERLOAD, DOMAIN, ...)                                            \
  namespace {                                                                                  \
  constexpr auto NAME##_math = [](auto x, auto y) { return __VA_ARGS__; };                     \
  }                                                                                            \
  Tensor& NAME##TENSOR_OVERLOAD(KernelRuntimeContext& ctx, const Tensor& self,                 \
                                const Tensor& other, Tensor& out) {                            \
    return elementwise(ctx, kElementwise<NAME##_math, 2, Domain::DOMAIN>, {self, other}, out); \
  }

// clang-format off
BINARY(eq, _tensor_out, _scalar_out, Any, x == y)
BINARY(ne, _tensor_out, _scalar_out, Any, x != y)
BINARY(lt, _tensor_out, _scalar_out, Any, x < y)
BINARY(le, _tensor_out, _scalar_out, Any, x <= y)
BINARY(gt, _tensor_out, _scalar_out, Any, x > y)
BINARY(ge, _tensor_out, _scalar_out, Any, x >= y)
TENSORS(logical_and, _out, Logical, x && y)
TENSORS(logical_or,  _out, Logical, x || y)
TENSORS(logical_xor, _out, Logical, x != y)
BINARY(bitwise_and, _tensor_out, _scalar_out, Integral, x & y)
BINARY(bitwise_or,  _tensor_out, _scalar_out, Integral, x | y)
BINARY(bitwise_xor, _tensor_out, _scalar_out, Integral, x ^ y)
BINARY(bitwise_left_shift,  _tensor_out, _tensor_scalar_out, Integral, shift_left(x, y))
BINARY(bitwise_right_shift, _tensor_out, _tensor_scalar_out, Integral, shift_right(x, y))
// clang-format on

}  // namespace executorch::kernels::portable
