// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Bessel functions of orders 0 and 1 and Airy's function Ai, in double. The numbers are those of
// Abramowitz and Stegun's Handbook of Mathematical Functions.
#pragma once

#include <executorch/kernels/portable/pointwise/special.h>

namespace executorch::kernels::portable {

/// Beyond this, asymptotic expansions are exact to the last digits.
inline constexpr double kFar = 30;
inline constexpr double kEulerGamma = 0.57721566490153286061;

/// The terms a_k of the asymptotic expansions (9.2.5, 9.7.1): a_k is a_(k - 1) times this over x.
inline double asymptotic_ratio(int order, int k) {
  const double odd = 2 * k - 1;
  return (4.0 * order * order - odd * odd) / (8.0 * k);
}

/// exp(-|x|) I_n(x): power series (9.6.10), asymptotic expansion (9.7.1).
template <int Order>
double scaled_bessel_i(double x) {
  const double a = std::fabs(x);
  double sum = 1, term = 1;
  if (!(a > kFar)) {
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= (a / 2) * (a / 2) / (static_cast<double>(k) * (k + Order));
      sum += term;
    }
    sum *= std::exp(-a);
    if (Order == 1) sum *= x / 2;
    return x == x ? sum : x;
  }
  for (int k = 1; k <= 20; ++k) {
    term *= -asymptotic_ratio(Order, k) / a;
    sum += term;
  }
  sum /= std::sqrt(2 * kPi * a);
  return Order == 1 && x < 0 ? -sum : sum;
}

inline double bessel_i1(double x) {
  const double half = std::exp(std::fabs(x) / 2);  // exp(|x|) itself overflows sooner than I_1
  return scaled_bessel_i<1>(x) * half * half;
}

/// exp(x) K_n(x) for x > 0 and any real order, by its integral (9.6.24) of exp(x - x cosh t)
/// cosh(n t): the trapezoidal rule converges faster than any power of the step.
inline double scaled_bessel_k_of(double order, double x) {
  if (!(x > 0)) {
    return x == 0 ? std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
  }
  if (x > 1e300) return 0;
  if (x < 1e-10) {  // the first term (9.6.8, 9.6.9)
    return order == 0 ? -std::log(x / 2) - kEulerGamma
                      : std::tgamma(order) / 2 * std::pow(2 / x, order);
  }
  const double narrow = 0.25 / std::sqrt(x), step = narrow < 0.125 ? narrow : 0.125;
  double sum = 0.5;
  for (int k = 1; k < 1000; ++k) {
    const double t = k * step, sine = std::sinh(t / 2), decay = 2 * x * sine * sine;
    const double term = std::exp(-decay) * std::cosh(order * t);
    sum += term;
    if (decay > 1 && !(term > sum * 1e-18)) break;
  }
  return sum * step;
}

template <int Order>
double scaled_bessel_k(double x) {
  return scaled_bessel_k_of(Order, x);
}

template <int Order>
double bessel_k(double x) {
  return scaled_bessel_k_of(Order, x) * std::exp(-x);
}

/// J and Y of orders 0 and 1 at x >= 0.
struct BesselJY {
  double j[2];
  double y[2];
};

/// By asymptotic expansion (9.2.5, 9.2.6).
inline BesselJY far_bessel(double x) {
  BesselJY values{};
  const double scale = std::sqrt(2 / (kPi * x));
  for (int order = 0; order < 2; ++order) {
    double parts[2] = {1, 0}, term = 1;
    for (int k = 1; k <= 30; ++k) {
      const double next = term * asymptotic_ratio(order, k) / x;
      if (std::fabs(next) > std::fabs(term)) break;
      term = next;
      parts[k % 2] += (k / 2) % 2 == 0 ? term : -term;
    }
    // The angle x - order pi / 2 - pi / 4, without the loss of a subtraction.
    const double sine = std::sin(x), cosine = std::cos(x), root = std::sqrt(0.5);
    const double s = order == 0 ? (sine - cosine) * root : -(sine + cosine) * root;
    const double c = order == 0 ? (sine + cosine) * root : (sine - cosine) * root;
    values.j[order] = scale * (parts[0] * c - parts[1] * s);
    values.y[order] = scale * (parts[0] * s + parts[1] * c);
  }
  return values;
}

/// By Miller's backward recurrence (9.12, example 1) and Neumann's series (9.1.88).
inline BesselJY near_bessel(double x) {
  const int last =
      2 * (static_cast<int>(x / 2) + 22);  // J of this order is far below the last digit
  double above = 0, at = 1e-300, norm = 0;
  double sums[2] = {0, 0}, low[2] = {0, 0};
  for (int n = last; n >= 0; --n) {
    // `at` is proportional to J_n.
    const int k = n / 2;
    const double sign = k % 2 == 0 ? 1 : -1;
    if (n % 2 == 0) {
      norm += n == 0 ? at : 2 * at;
      if (k > 0) sums[0] += sign * 2 / k * at;
    } else if (k > 0) {
      sums[1] += sign * (1.0 + 2 * k) / (static_cast<double>(k) * (1 + k)) * at;
    }
    if (n < 2) low[n] = at;
    if (n == 0) break;
    const double below = 2.0 * n / x * at - above;
    above = at;
    at = below;
    if (std::fabs(at) > 1e200) {
      for (double* value : {&above, &at, &norm, &sums[0], &sums[1], &low[0], &low[1]}) {
        *value *= 1e-200;
      }
    }
  }
  BesselJY values{};
  for (int order = 0; order < 2; ++order) values.j[order] = low[order] / norm;
  const double logarithm = std::log(x / 2) + kEulerGamma;
  values.y[0] = 2 / kPi * (logarithm * values.j[0] - sums[0] / norm);
  values.y[1] = 2 / kPi * ((logarithm - 1) * values.j[1] - values.j[0] / x - sums[1] / norm);
  return values;
}

inline BesselJY bessel_jy(double x) { return x > kFar ? far_bessel(x) : near_bessel(x); }

template <int Order>
double bessel_j(double x) {
  const double a = std::fabs(x);
  if (x != x) return x;
  if (a > 1e300) return a > std::numeric_limits<double>::max() ? x - x : 0;
  if (a < 1e-10) return Order == 0 ? 1 : x / 2;
  const double value = bessel_jy(a).j[Order];
  return Order == 1 && x < 0 ? -value : value;
}

template <int Order>
double bessel_y(double x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x > 1e300) return x > std::numeric_limits<double>::max() ? x - x : 0;
  if (x < 1e-10) {
    return Order == 0 ? 2 / kPi * (std::log(x / 2) + kEulerGamma) : -2 / (kPi * x);
  }
  return bessel_jy(x).y[Order];
}

/// Airy's Ai: by K of order 1/3 (10.4.14), by Maclaurin's series (10.4.2), by asymptotic expansion
/// (10.4.60).
inline double airy_ai(double x) {
  if (x - x != 0) return std::numeric_limits<double>::quiet_NaN();
  const double argument = 2.0 / 3 * std::fabs(x) * std::sqrt(std::fabs(x));
  if (x > 1) {
    return std::sqrt(x / 3) / kPi * scaled_bessel_k_of(1.0 / 3, argument) * std::exp(-argument);
  }
  if (x > -7.5) {
    constexpr double kAt0 = 0.35502805388781723926, kSlope = -0.25881940379280679840;
    double f = 1, g = x, term_f = 1, term_g = x;
    for (int k = 1; k < 60; ++k) {
      const double cube = x * x * x;
      term_f *= cube / ((3.0 * k - 1) * (3 * k));
      term_g *= cube / ((3.0 * k) * (3 * k + 1));
      f += term_f;
      g += term_g;
    }
    return kAt0 * f + kSlope * g;
  }
  double parts[2] = {1, 0}, term = 1;
  for (int k = 1; k <= 30; ++k) {
    const double next =
        term * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1) * argument);
    if (std::fabs(next) > std::fabs(term)) break;
    term = next;
    parts[k % 2] += (k / 2) % 2 == 0 ? term : -term;
  }
  const double angle = argument + kPi / 4;
  return (std::sin(angle) * parts[0] - std::cos(angle) * parts[1]) /
         (std::sqrt(kPi) * std::sqrt(std::sqrt(-x)));
}

}  // namespace executorch::kernels::portable
