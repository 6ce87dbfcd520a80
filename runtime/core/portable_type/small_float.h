// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shared by Half and BFloat16: numeric limits, and arithmetic, which is computed in float and
// rounded once.
#pragma once

#include <stdint.h>

#include <limits>
#include <type_traits>

namespace executorch::runtime::etensor::internal {

/// The members of std::numeric_limits that both types share.
template <typename Type>
struct SmallFloatLimits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr bool traps = false;

  static constexpr Type denorm_min() { return of(0x0001); }

 protected:
  static constexpr Type of(uint16_t bits) { return Type(bits, Type::from_bits()); }
};

}  // namespace executorch::runtime::etensor::internal

// Defines the operators of `Type`, which converts to float and explicitly from it. Macro, because
// friends of a template base would make every conversion ambiguous.
#define ET_INTERNAL_SMALL_FLOAT_OPERATOR(Type, op)                                   \
  inline Type operator op(Type a, Type b) {                                          \
    return Type(static_cast<float>(a) op static_cast<float>(b));                     \
  }                                                                                  \
  inline float operator op(Type a, float b) { return static_cast<float>(a) op b; }   \
  inline float operator op(float a, Type b) { return a op static_cast<float>(b); }   \
  inline double operator op(Type a, double b) { return static_cast<float>(a) op b; } \
  inline double operator op(double a, Type b) { return a op static_cast<float>(b); } \
  template <typename I, std::enable_if_t<std::is_integral_v<I>, bool> = true>        \
  inline Type operator op(Type a, I b) {                                             \
    return a op Type(static_cast<float>(b));                                         \
  }                                                                                  \
  template <typename I, std::enable_if_t<std::is_integral_v<I>, bool> = true>        \
  inline Type operator op(I a, Type b) {                                             \
    return Type(static_cast<float>(a)) op b;                                         \
  }                                                                                  \
  inline Type& operator op## = (Type & a, Type b) { return a = a op b; }

#define ET_INTERNAL_SMALL_FLOAT_ARITHMETIC(Type) \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(Type, +)      \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(Type, -)      \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(Type, *)      \
  ET_INTERNAL_SMALL_FLOAT_OPERATOR(Type, /)      \
  inline Type operator-(Type a) { return Type(-static_cast<float>(a)); }
