// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of float32 by vectors of kBytes, for functions that simd_dispatch.h compiles for each
// instruction set. Everything is inlined into them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/simd/float_math.h>

namespace executorch::kernels::engine {
namespace {  // Compiled for several instruction sets: no copy may stand for another.

template <int kBytes>
struct RowVector {
  // At any address. A template that deduces such a type loses its alignment: name it where memory
  // is read or written.
  typedef float Floats __attribute__((vector_size(kBytes), aligned(4), may_alias));
  typedef int32_t Ints __attribute__((vector_size(kBytes), aligned(4), may_alias));
  static constexpr size_t kCount = kBytes / 4;
};

/// Calls f(vector, index, valid lanes) over a row; lanes beyond the end hold `fill`.
template <int kBytes, class F>
ET_VECTOR_INLINE void for_each_vector(const float* in, size_t n, float fill, F&& f) {
  using V = typename RowVector<kBytes>::Floats;
  constexpr size_t kCount = RowVector<kBytes>::kCount;
  size_t i = 0;
  for (; i + kCount <= n; i += kCount) f(*reinterpret_cast<const V*>(in + i), i, kCount);
  if (i < n) {
    V rest = V{} + fill;
    for (size_t j = i; j < n; ++j) rest[j - i] = in[j];
    f(rest, i, n - i);
  }
}

/// Stores the valid lanes.
template <int kBytes>
ET_VECTOR_INLINE void put(float* out, const typename RowVector<kBytes>::Floats& value,
                          size_t count) {
  using V = typename RowVector<kBytes>::Floats;
  if (count == RowVector<kBytes>::kCount) {
    *reinterpret_cast<V*>(out) = value;
    return;
  }
  for (size_t j = 0; j < count; ++j) out[j] = value[j];
}

template <int kBytes>
ET_VECTOR_INLINE float sum_lanes(const typename RowVector<kBytes>::Floats& v) {
  float sum = 0;
  for (size_t j = 0; j < RowVector<kBytes>::kCount; ++j) sum += v[j];
  return sum;
}

/// exp(x) for every x, subnormal results included. By reference, as vectors.h says.
template <class V, class I>
ET_VECTOR_INLINE void vector_exp(const V& given, V& result) {
  V x = given;
  // exp(x) = 2^n * exp(r), |r| <= ln(2) / 2, n the integer nearest to x / ln(2); beyond these
  // bounds the result is 0 or infinity anyway.
  x = x < -104.0f ? V{} - 104.0f : x;
  x = x > 89.0f ? V{} + 89.0f : x;
  const V shifted = x * kLog2E + kRoundUp;
  const V n = shifted - kRoundUp;
  const V r = (x - n * kLn2High) - n * kLn2Low;
  // Taylor's series; its seventh term is below 2e-8 for these r.
  V p = r * (1.0f / 720) + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two factors, because n may lie outside of what one exponent holds.
  const I power = (I)shifted - kRoundUpBits;
  const I half = power >> 1;
  result = p * (V)((half + 127) << 23) * (V)((power - half + 127) << 23);
}

}  // namespace
}  // namespace executorch::kernels::engine
