// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Special functions that the C++ library has not, in double: their definitions are in Abramowitz
// and Stegun's Handbook of Mathematical Functions, at the numbers given.
#pragma once

#include <cmath>
#include <limits>

namespace executorch::kernels::portable {

inline constexpr double kPi = 3.14159265358979323846;

/// The logarithmic derivative of gamma: reflection (6.3.7), recurrence (6.3.5), asymptotic
/// expansion (6.3.18).
inline double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return std::numeric_limits<double>::quiet_NaN();
    result = -kPi / std::tan(kPi * (x - std::trunc(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double s = 1 / (x * x);
  const double tail =
      s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
  return result + std::log(x) - 0.5 / x - tail;
}

/// Hurwitz' zeta function, the sum of (q + k)^-s over k >= 0, by Euler and Maclaurin's formula
/// (23.1.30).
inline double zeta(double s, double q) {
  if (s == 1) return std::numeric_limits<double>::infinity();
  if (s < 1) return std::numeric_limits<double>::quiet_NaN();
  if (q <= 0) {
    if (q == std::floor(q)) return std::numeric_limits<double>::infinity();
    if (s != std::floor(s)) return std::numeric_limits<double>::quiet_NaN();
  }
  if (q < -16) {  // The terms on both sides of 0 are sums from there on, as far as they go.
    const double part = q - std::floor(q);
    const double below = zeta(s, 1 - part) - zeta(s, 1 - q);
    return zeta(s, part) + (std::fmod(s, 2) == 0 ? below : -below);
  }
  double sum = 0;
  for (int k = 0; k < 10 || q < 10; ++k, q += 1) {
    const double term = std::pow(q, -s);
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-17) return sum;
  }
  const double edge = std::pow(q, -s);
  sum += edge * q / (s - 1) + edge / 2;
  // Bernoulli's number B(2j) over (2j)!.
  constexpr double kRatios[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000,
                                1.0 / 74724249600.0};
  double factor = s / q;
  for (int j = 0; j < 7; ++j) {
    sum += kRatios[j] * factor * edge;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}

/// The derivative of order n of digamma, n >= 1 (6.4.10).
inline double polygamma(double n, double x) {
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

/// The y whose erf is x: Winitzki's approximation, made exact by Halley's iteration.
inline double erfinv(double x) {
  const double a = std::fabs(x);
  if (a >= 1 || x != x) {
    return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                  : std::numeric_limits<double>::quiet_NaN();
  }
  if (a < 1e-8) return x * (std::sqrt(kPi) / 2);
  constexpr double kFit = 0.147;
  const double logarithm = std::log1p(-a * a), b = 2 / (kPi * kFit) + logarithm / 2;
  double y = std::sqrt(std::sqrt(b * b - logarithm / kFit) - b);
  for (int i = 0; i < 2; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error / (2 / std::sqrt(kPi) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

/// The modified Bessel function of order 0: power series (9.6.12), asymptotic expansion (9.7.1).
inline double bessel_i0(double x) {
  const double a = std::fabs(x);
  double term = 1, sum = 1;
  if (!(a > 30)) {
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= (a / (2 * k)) * (a / (2 * k));
      sum += term;
    }
    return x == x ? sum : x;
  }
  if (a > 720)
    return a - a + std::numeric_limits<double>::infinity();  // NaN for infinities, as eager
  for (int k = 1; k <= 20; ++k) {
    term *= (2 * k - 1) * (2 * k - 1) / (8.0 * k * a);
    sum += term;
  }
  return std::exp(a / 2) / std::sqrt(2 * kPi * a) * sum * std::exp(a / 2);
}

}  // namespace executorch::kernels::portable
