// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Special functions that the C++ library lacks, in double. Numbers refer to Abramowitz and Stegun,
// Handbook of Mathematical Functions.
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

/// exp(x^2) erfc(x): its asymptotic expansion (7.1.23) from 10 on.
inline double erfcx(double x) {
  if (x < 10)
    return x < -27 ? std::numeric_limits<double>::infinity() : std::exp(x * x) * std::erfc(x);
  double sum = 1, term = 1;
  for (int k = 1; k <= 20; ++k) {
    term *= -(2 * k - 1) / (2 * x * x);
    sum += term;
  }
  return x == x ? sum / (x * std::sqrt(kPi)) : x;
}

/// The quantile of the normal distribution at probability `p`: an approximation (26.2.23), refined
/// by Halley's iteration.
inline double ndtri(double p) {
  if (!(p > 0 && p < 1)) {
    if (p == 0 || p == 1) return std::copysign(std::numeric_limits<double>::infinity(), p - 0.5);
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (p > 0.5) return -ndtri(1 - p);
  const double t = std::sqrt(-2 * std::log(p));
  double y = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-y * y / 2) / std::sqrt(2 * kPi);
    const double step = (std::erfc(-y / std::sqrt(2.0)) / 2 - p) / density;
    if (!(std::fabs(step) < 1)) break;
    y -= step / (1 + y * step / 2);
  }
  return y;
}

/// The common factor of the incomplete gamma functions: x^a exp(-x) / gamma(a).
inline double gamma_scale(double a, double x) {
  return std::exp(a * std::log(x) - x - std::lgamma(a));
}

/// The lower incomplete gamma function over gamma (6.5.1), for x < a + 1: its series (6.5.29).
inline double lower_gamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 100000 && term > sum * 1e-17; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * gamma_scale(a, x);
}

/// The upper one, for x >= a + 1: its continued fraction (6.5.31), by the method of Lentz.
inline double upper_gamma_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int k = 1; k < 100000; ++k) {
    const double factor = -k * (k - a);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < 1e-16) break;
  }
  return h * gamma_scale(a, x);
}

/// The lower one where a or x is 0, infinite or outside of the domain (NaN); elsewhere -1.
inline double lower_gamma_at_end(double a, double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a != a || x != x || a < 0 || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (a == 0) return x > 0 ? 1 : std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  if (a == kInfinity) return x == kInfinity ? std::numeric_limits<double>::quiet_NaN() : 0;
  return x == kInfinity ? 1 : -1;
}

inline double lower_gamma(double a, double x) {
  const double end = lower_gamma_at_end(a, x);
  if (!(end == -1)) return end;
  return x < a + 1 ? lower_gamma_series(a, x) : 1 - upper_gamma_fraction(a, x);
}

inline double upper_gamma(double a, double x) {
  const double end = lower_gamma_at_end(a, x);
  if (!(end == -1)) return 1 - end;
  return x < a + 1 ? 1 - lower_gamma_series(a, x) : upper_gamma_fraction(a, x);
}

}  // namespace executorch::kernels::portable
