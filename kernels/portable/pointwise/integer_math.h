// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Arithmetic of integers that is defined for every value: it wraps where torch's does, and reports
// a division by zero instead of trapping; and what it is called for floating point.
#pragma once

#include <executorch/kernels/portable/loops/elementwise.h>

#include <cmath>

namespace executorch::kernels::portable {

inline int64_t wrapping_add(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
inline int64_t wrapping_sub(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
inline int64_t wrapping_mul(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <class C>
C plus(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return wrapping_add(x, y);
  } else {
    return x + y;
  }
}
template <class C>
C minus(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return wrapping_sub(x, y);
  } else {
    return x - y;
  }
}
template <class C>
C times(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return wrapping_mul(x, y);
  } else {
    return x * y;
  }
}

/// The divisor, or 1 after noting that it is zero.
inline int64_t nonzero(int64_t y, const Extra<int64_t>& extra) {
  if (y != 0) return y;
  extra.divided_by_zero = true;
  return 1;
}

/// Rounds to zero.
inline int64_t divide_trunc(int64_t x, int64_t y, const Extra<int64_t>& extra) {
  const int64_t divisor = nonzero(y, extra);
  return divisor == -1 ? wrapping_sub(0, x) : x / divisor;
}
template <class F>
F divide_trunc(F x, F y, const Extra<F>&) {
  return std::trunc(x / y);
}

/// C++'s remainder: the sign of the dividend.
inline int64_t modulo_trunc(int64_t x, int64_t y, const Extra<int64_t>& extra) {
  const int64_t divisor = nonzero(y, extra);
  return divisor == -1 ? 0 : x % divisor;
}
template <class F>
F modulo_trunc(F x, F y, const Extra<F>&) {
  return std::fmod(x, y);
}

/// A remainder with the dividend's sign becomes Python's, with the sign of the divisor.
template <class C>
C floored(C remainder, C y) {
  const bool differ = (remainder != 0) & ((remainder < 0) != (y < 0));
  return differ ? remainder + y : remainder;
}

/// Rounds to minus infinity.
inline int64_t divide_floor(int64_t x, int64_t y, const Extra<int64_t>& extra) {
  const int64_t quotient = divide_trunc(x, y, extra);
  return modulo_trunc(x, y, extra) != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
/// Floating point as Python's floor division: exact even where x / y rounds up to an integer.
/// `remainder` has the dividend's sign; y is not zero.
template <class F>
F floor_of_quotient(F x, F y, F remainder) {
  const F whole = (x - remainder) / y;
  const bool differ = (remainder != 0) & ((y < 0) != (remainder < 0));
  const F quotient = differ ? whole - 1 : whole;
  const F floored = std::floor(quotient);
  const F nearest = quotient - floored > F(0.5) ? floored + 1 : floored;
  return quotient == 0 ? std::copysign(F(0), x / y) : nearest;
}
template <class F>
F divide_floor(F x, F y, const Extra<F>&) {
  return y == 0 ? x / y : floor_of_quotient(x, y, std::fmod(x, y));
}

/// Euclid's algorithm on the magnitudes.
inline uint64_t common_divisor(int64_t x, int64_t y) {
  uint64_t a = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  uint64_t b = y < 0 ? 0 - static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
  while (a != 0) {
    const uint64_t rest = b % a;
    b = a;
    a = rest;
  }
  return b;
}
inline int64_t common_multiple(int64_t x, int64_t y) {
  const auto divisor = static_cast<int64_t>(common_divisor(x, y));
  if (divisor == 0) return 0;
  const int64_t multiple = wrapping_mul(x / divisor, y);
  return multiple < 0 ? wrapping_sub(0, multiple) : multiple;
}

/// Integers by squaring, wrapping; a negative exponent leaves 1, -1 or 0.
inline int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}
template <class F>
F power(F base, F exponent) {
  return std::pow(base, exponent);
}

}  // namespace executorch::kernels::portable
