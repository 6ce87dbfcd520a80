// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Integer arithmetic that is defined for every value: it wraps where torch's does, and reports a
// division by zero instead of trapping. Floating point has overloads of the same names.
#pragma once

#include <executorch/kernels/loops/elementwise/elementwise.h>

#include <cmath>

namespace executorch::kernels {

/// Unsigned arithmetic wraps; narrower than int, it would become int.
template <class C>
using Wrapping =
    std::conditional_t<(sizeof(C) < sizeof(uint32_t)), uint32_t, std::make_unsigned_t<C>>;

template <class C>
C plus(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<Wrapping<C>>(x) + static_cast<Wrapping<C>>(y));
  } else {
    return x + y;
  }
}
template <class C>
C minus(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<Wrapping<C>>(x) - static_cast<Wrapping<C>>(y));
  } else {
    return x - y;
  }
}
template <class C>
C times(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<Wrapping<C>>(x) * static_cast<Wrapping<C>>(y));
  } else {
    return x * y;
  }
}

/// The divisor, or 1 after noting that it is zero.
template <class C>
C nonzero(C y, const Extra<C>& extra) {
  if (y != 0) return y;
  extra.divided_by_zero = true;
  return 1;
}
/// True if the divisor is -1; dividing the lowest integer by it overflows.
template <class C>
bool is_minus_one(C divisor) {
  return std::is_signed_v<C> && divisor == static_cast<C>(-1);
}

/// Rounds to zero.
template <class C>
C divide_trunc(C x, C y, const Extra<C>& extra) {
  if constexpr (std::is_integral_v<C>) {
    const C divisor = nonzero(y, extra);
    return is_minus_one(divisor) ? minus(C(0), x) : static_cast<C>(x / divisor);
  } else {
    return std::trunc(x / y);
  }
}

/// C++'s remainder: the sign of the dividend.
template <class C>
C modulo_trunc(C x, C y, const Extra<C>& extra) {
  if constexpr (std::is_integral_v<C>) {
    const C divisor = nonzero(y, extra);
    return is_minus_one(divisor) ? C(0) : static_cast<C>(x % divisor);
  } else {
    return std::fmod(x, y);
  }
}

/// A remainder with the dividend's sign becomes Python's, with the sign of the divisor.
template <class C>
C floored(C remainder, C y) {
  const bool differ = (remainder != 0) & ((remainder < 0) != (y < 0));
  return differ ? static_cast<C>(remainder + y) : remainder;
}

/// Floor division of floating point, as in Python: exact even if x / y rounds up to an integer.
/// `remainder` has the dividend's sign; y is not zero.
template <class F, class Floor>
F floor_of_quotient(F x, F y, F remainder, Floor&& floor) {
  const F whole = (x - remainder) / y;
  const bool differ = (remainder != 0) & ((y < 0) != (remainder < 0));
  const F quotient = differ ? whole - 1 : whole;
  const F floored = floor(quotient);
  const F nearest = quotient - floored > F(0.5) ? floored + 1 : floored;
  return quotient == 0 ? std::copysign(F(0), x / y) : nearest;
}
/// Rounds to minus infinity.
template <class C>
C divide_floor(C x, C y, const Extra<C>& extra) {
  if constexpr (std::is_integral_v<C>) {
    const C quotient = divide_trunc(x, y, extra);
    const bool rounds = modulo_trunc(x, y, extra) != 0 && (x < 0) != (y < 0);
    return rounds ? static_cast<C>(quotient - 1) : quotient;
  } else {
    return y == 0 ? x / y
                  : floor_of_quotient(x, y, std::fmod(x, y), [](C v) { return std::floor(v); });
  }
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
template <class C>
C common_multiple(C x, C y) {
  const auto divisor = static_cast<C>(common_divisor(x, y));
  if (divisor == 0) return 0;
  const C multiple = times(static_cast<C>(x / divisor), y);
  return multiple < 0 ? minus(C(0), multiple) : multiple;
}

/// Integers by squaring, wrapping; a negative exponent leaves 1, -1 or 0.
template <class C>
C power(C base, C exponent) {
  if constexpr (std::is_integral_v<C>) {
    if (exponent < 0) {
      if (base == 1 || !is_minus_one(base)) return base == 1;
      return exponent % 2 == 0 ? C(1) : base;
    }
    C result = 1;
    for (; exponent > 0; exponent = static_cast<C>(exponent / 2)) {
      if (exponent % 2 == 1) result = times(result, base);
      base = times(base, base);
    }
    return result;
  } else {
    return std::pow(base, exponent);
  }
}

}  // namespace executorch::kernels
