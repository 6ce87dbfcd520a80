// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Vectors of kBytes of float32, for the instruction set of the file that includes this, and the
// exponential function on them. Errors are within a few units in the last place, or below 2e-7
// where that is more; NaN stays NaN.
#pragma once

#include <executorch/kernels/engine/simd/float_math.h>

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

// For every x, beside the formulas of float_math.h: V of float, I of int32 of the same size.

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
ET_VECTOR_INLINE V vector_sigmoid(V x) {
  return 1.0f / (1.0f + vector_exp<V, I>(-x));
}

}  // namespace
}  // namespace executorch::kernels::optimized
