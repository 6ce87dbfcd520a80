// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators of one tensor. A row is an operator: its name, where it is defined, its mathematics on
// x (of type C).
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pointwise/integer_math.h>

#include <cmath>

namespace executorch::kernels::portable {
namespace {

// Rounding leaves integers as they are.
template <class C, class F>
C rounded(C x, F round) {
  if constexpr (std::is_floating_point_v<C>) {
    return round(x);
  } else {
    return x;
  }
}

template <class C>
C relu6(C x) {
  return x < 0 ? C(0) : x > 6 ? C(6) : x;
}

}  // namespace

#define UNARY(NAME, DOMAIN, ...)                                                        \
  namespace {                                                                           \
  constexpr auto NAME##_math = [](auto x) {                                             \
    using C [[maybe_unused]] = decltype(x);                                             \
    return __VA_ARGS__;                                                                 \
  };                                                                                    \
  }                                                                                     \
  Tensor& NAME##_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {      \
    return elementwise(ctx, kElementwise<NAME##_math, 1, Domain::DOMAIN>, {self}, out); \
  }

// clang-format off
UNARY(abs,        Any,      x < 0 ? minus(C(0), x) : x == 0 ? C(0) : x)
UNARY(neg,        Numeric,  times(x, C(-1)))
UNARY(sign,       Any,      static_cast<C>((x > 0) - (x < 0)))
UNARY(relu,       Numeric,  x <= 0 ? C(0) : x)
UNARY(ceil,       Numeric,  rounded(x, [](auto v) { return std::ceil(v); }))
UNARY(floor,      Numeric,  rounded(x, [](auto v) { return std::floor(v); }))
UNARY(round,      Numeric,  rounded(x, [](auto v) { return std::nearbyint(v); }))
UNARY(trunc,      Numeric,  rounded(x, [](auto v) { return std::trunc(v); }))
UNARY(frac,       Numeric,  x - rounded(x, [](auto v) { return std::trunc(v); }))
UNARY(acos,       Floating, std::acos(x))
UNARY(acosh,      Floating, std::acosh(x))
UNARY(asin,       Floating, std::asin(x))
UNARY(asinh,      Floating, std::asinh(x))
UNARY(atan,       Floating, std::atan(x))
UNARY(atanh,      Floating, std::atanh(x))
UNARY(cos,        Floating, std::cos(x))
UNARY(cosh,       Floating, std::cosh(x))
UNARY(erf,        Floating, std::erf(x))
UNARY(erfc,       Floating, std::erfc(x))
UNARY(exp,        Floating, std::exp(x))
UNARY(exp2,       Floating, std::exp2(x))
UNARY(expm1,      Floating, std::expm1(x))
UNARY(lgamma,     Floating, std::lgamma(x))
UNARY(log,        Floating, std::log(x))
UNARY(log10,      Floating, std::log10(x))
UNARY(log1p,      Floating, std::log1p(x))
UNARY(log2,       Floating, std::log2(x))
UNARY(reciprocal, Floating, 1 / x)
UNARY(rsqrt,      Floating, 1 / std::sqrt(x))
UNARY(sigmoid,    Floating, 1 / (1 + std::exp(-x)))
UNARY(sin,        Floating, std::sin(x))
UNARY(sinh,       Floating, std::sinh(x))
UNARY(sqrt,       Floating, std::sqrt(x))
UNARY(tan,        Floating, std::tan(x))
UNARY(tanh,       Floating, std::tanh(x))
UNARY(silu,       Floating, x / (1 + std::exp(-x)))
UNARY(mish,       Floating, x * std::tanh(std::log1p(std::exp(x))))
UNARY(hardsigmoid, Floating, relu6(x + 3) / 6)
UNARY(hardswish,  Floating, x * relu6(x + 3) / 6)
UNARY(isinf,      Any,      x - x != 0 && x == x)
UNARY(isnan,      Any,      x != x)
UNARY(isposinf,   Any,      x > 0 && x - x != 0)
UNARY(isneginf,   Any,      x < 0 && x - x != 0)
UNARY(logical_not, Logical, !x)
// clang-format on

#undef UNARY

namespace {
constexpr auto bitwise_not_math = [](auto x) { return ~x; };
constexpr auto signbit_math = [](auto x) { return std::signbit(x); };
constexpr auto is_negative_math = [](auto x) { return x < 0; };
}  // namespace

Tensor& bitwise_not_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (self.scalar_type() == ScalarType::Bool) return logical_not_out(ctx, self, out);
  return elementwise(ctx, kElementwise<bitwise_not_math, 1, Domain::Integral>, {self}, out);
}

Tensor& signbit_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return is_floating(self.scalar_type())
             ? elementwise(ctx, kElementwise<signbit_math, 1, Domain::Floating>, {self}, out)
             : elementwise(ctx, kElementwise<is_negative_math, 1, Domain::Any>, {self}, out);
}

}  // namespace executorch::kernels::portable
