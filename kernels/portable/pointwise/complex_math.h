// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The mathematics of pointwise operators on complex numbers. Products and quotients use
// eager's formulas, which treat infinity and NaN differently from C's operators.
#pragma once

#include <executorch/kernels/loops/dtype/complex.h>

#include <cmath>

namespace executorch::kernels::portable::complex_math {

/// M_LN2, which C libraries for boards declare only with the compiler's extensions.
inline constexpr double kLn2 = 0.693147180559945309417232121458;

inline Complex product(Complex x, Complex y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
/// Smith's method, which divides by the larger part of the divisor first: no square overflows. As
/// in eager, a quotient by zero is infinite or NaN in each part, and a finite one by infinity is
/// zero.
inline Complex quotient(Complex x, Complex y) {
  const double c = y.real(), d = y.imag();
  if (c == 0 && d == 0) return {x.real() / std::fabs(c), x.imag() / std::fabs(d)};
  if (std::fabs(c) >= std::fabs(d)) {
    const double ratio = d / c, scale = 1 / (c + d * ratio);
    return {(x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale};
  }
  const double ratio = c / d, scale = 1 / (d + c * ratio);
  return {(x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale};
}
inline Complex power(Complex x, Complex y) {
  if (x == 0.0 && y.real() >= 0 && y.imag() == 0) return y == 0.0 ? 1.0 : 0.0;
  return std::pow(x, y);
}
inline bool is_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
inline bool is_infinite(Complex z) { return std::isinf(z.real()) || std::isinf(z.imag()); }

// By the operators' names.
#define UNARY(NAME, ...) inline constexpr auto NAME = [](Complex z) { return __VA_ARGS__; };
UNARY(abs, std::abs(z))
UNARY(acos, std::acos(z))
UNARY(acosh, std::acosh(z))
UNARY(angle, is_nan(z) ? z.real() + z.imag() : std::arg(z))
UNARY(asin, std::asin(z))
UNARY(asinh, std::asinh(z))
UNARY(atan, std::atan(z))
UNARY(atanh, std::atanh(z))
UNARY(cos, std::cos(z))
UNARY(cosh, std::cosh(z))
UNARY(exp, std::exp(z))
UNARY(exp2, std::exp(z* kLn2))
UNARY(expm1, Complex(std::expm1(z.real()) * std::cos(z.imag()) -
                         2 * std::sin(z.imag() / 2) * std::sin(z.imag() / 2),
                     std::exp(z.real()) * std::sin(z.imag())))
UNARY(isinf, is_infinite(z))
UNARY(isnan, is_nan(z))
UNARY(log, std::log(z))
UNARY(log10, std::log10(z))
UNARY(log1p, Complex(std::log(std::abs(1.0 + z)), std::arg(1.0 + z)))
UNARY(log2, std::log(z) / kLn2)
UNARY(logical_not, z == 0.0)
UNARY(neg, -z)
UNARY(reciprocal, quotient(1.0, z))
UNARY(rsqrt, quotient(1.0, std::sqrt(z)))
UNARY(sigmoid, quotient(1.0, 1.0 + std::exp(-z)))
UNARY(silu, quotient(z, 1.0 + std::exp(-z)))
UNARY(sin, std::sin(z))
UNARY(sinh, std::sinh(z))
UNARY(sqrt, std::sqrt(z))
UNARY(tan, std::tan(z))
UNARY(tanh, std::tanh(z))
#undef UNARY

#define BINARY(NAME, ...) \
  inline constexpr auto NAME = [](Complex x, Complex y) { return __VA_ARGS__; };
BINARY(add, x + y)
BINARY(div, quotient(x, y))
BINARY(eq, x == y)
BINARY(logical_and, x != 0.0 && y != 0.0)
BINARY(logical_or, x != 0.0 || y != 0.0)
BINARY(logical_xor, (x != 0.0) != (y != 0.0))
BINARY(mul, product(x, y))
BINARY(ne, x != y)
BINARY(pow, power(x, y))
#undef BINARY

inline constexpr auto add_scaled = [](Complex x, Complex y, const auto& extra) {
  return x + extra.a * y;
};
inline constexpr auto rsub = [](Complex x, Complex y, const auto& extra) {
  return y + extra.a * x;
};
inline constexpr auto addcmul = [](Complex x, Complex y, Complex z, const auto& extra) {
  return x + extra.a * product(y, z);
};
inline constexpr auto addcdiv = [](Complex x, Complex y, Complex z, const auto& extra) {
  return x + extra.a * quotient(y, z);
};
inline constexpr auto lerp = [](Complex x, Complex y, Complex weight) {
  return std::abs(weight) < 0.5 ? x + product(weight, y - x) : y - product(y - x, 1.0 - weight);
};
inline constexpr auto where = [](bool condition, Complex x, Complex y) {
  return condition ? x : y;
};

}  // namespace executorch::kernels::portable::complex_math
