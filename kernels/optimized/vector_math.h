// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elementary functions of float32 on vectors of kBytes, for the instruction set of the file that
// includes this. Errors are within a few units in the last place, or below 2e-7 where that is more;
// NaN stays NaN.
#pragma once

#include <cstdint>

namespace executorch::kernels::optimized {
namespace {

template <int kBytes>
struct Lanes {
  // At any address. A template that deduces such a type forgets so: name it where memory is read or
  // written.
  typedef float Floats __attribute__((vector_size(kBytes), aligned(4), may_alias));
  typedef int32_t Ints __attribute__((vector_size(kBytes), aligned(4), may_alias));
  static constexpr int64_t kCount = kBytes / 4;
};

#define ET_VECTOR_INLINE inline __attribute__((always_inline))

// The formulas are templates on the vector alone: V of float, I of int32 of the same size.

template <class V, class I>
ET_VECTOR_INLINE V vector_exp(V x) {
  // exp(x) = 2^n * exp(r), |r| <= ln(2) / 2, n the nearest integer to x / ln(2); beyond these
  // bounds the result is 0 or infinity anyway.
  x = x < -104.0f ? V{} - 104.0f : x;
  x = x > 89.0f ? V{} + 89.0f : x;
  const float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  const V shifted = x * 1.44269504088896341f + kRound;
  const V n = shifted - kRound;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln(2) in two parts
  // Taylor's series; its seventh term is below 2e-8 for these r.
  V p = r * (1.0f / 720) + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two factors, because n may lie outside of what one exponent holds.
  const I power = (I)shifted - 0x4B400000;
  const I half = power >> 1;
  return p * (V)((half + 127) << 23) * (V)((power - half + 127) << 23);
}

template <class V, class I>
ET_VECTOR_INLINE V vector_abs(V x) {
  return (V)((I)x & 0x7FFFFFFF);
}

/// The magnitude with the sign of another number.
template <class V, class I>
ET_VECTOR_INLINE V vector_sign(V magnitude, V sign) {
  return (V)((I)magnitude | ((I)sign & int32_t(0x80000000)));
}

template <class V, class I>
ET_VECTOR_INLINE V vector_sigmoid(V x) {
  return 1.0f / (1.0f + vector_exp<V, I>(-x));
}

template <class V, class I>
ET_VECTOR_INLINE V vector_tanh(V x) {
  const V a = vector_abs<V, I>(x);
  // 1 - 2 / (exp(2 |x|) + 1), or near zero, where that cancels, an odd polynomial fitted to tanh on
  // [0, 0.625].
  const V large = 1.0f - 2.0f / (vector_exp<V, I>(a + a) + 1.0f);
  const V s = a * a;
  V p = s * -0.00571702141f + 0.0206505638f;
  p = p * s - 0.0537434891f;
  p = p * s + 0.133314908f;
  p = p * s - 0.333332837f;
  const V small = a + a * s * p;
  const V result = a < 0.625f ? small : large;
  return vector_sign<V, I>(result, x);
}

/// 1 - erf(z) for z >= 0: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
template <class V, class I>
ET_VECTOR_INLINE V vector_erfc(V z) {
  const V t = 1.0f / (1.0f + z * 0.3275911f);
  V p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  return p * t * vector_exp<V, I>(-z * z);
}

template <class V, class I>
ET_VECTOR_INLINE V vector_erf(V x) {
  const V a = vector_abs<V, I>(x);
  const V s = a * a;
  V p = s * -0.000611128751f + 0.00501622772f;
  p = p * s - 0.0267819557f;
  p = p * s + 0.112822302f;
  p = p * s - 0.376125336f;
  p = p * s + 1.12837911f;
  const V result = a < 0.9f ? a * p : 1.0f - vector_erfc<V, I>(a);
  return vector_sign<V, I>(result, x);
}

/// x * Phi(x), Phi the normal distribution's cumulative function.
template <class V, class I>
ET_VECTOR_INLINE V vector_gelu(V x) {
  const V tail = 0.5f * vector_erfc<V, I>(vector_abs<V, I>(x) * 0.70710678118654752f);
  return x * (x < 0.0f ? tail : 1.0f - tail);
}

template <class V, class I>
ET_VECTOR_INLINE V vector_gelu_tanh(V x) {
  // 0.5 * (1 + tanh(y)) is sigmoid(2 y).
  const V y = 1.59576912160573071f * (x + 0.044715f * x * x * x);
  return x * vector_sigmoid<V, I>(y);
}

}  // namespace
}  // namespace executorch::kernels::optimized
