// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The arithmetic that Half and BFloat16 share: everything is computed in float and rounded once.
#pragma once

#include <type_traits>

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
