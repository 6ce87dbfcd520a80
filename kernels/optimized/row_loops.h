// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of float32 by vectors of kBytes, for the instruction set of what includes this, and layer
// norm of a row. XNNPACK is built with it, too.
#pragma once

#include <executorch/kernels/optimized/vector_math.h>

#include <cstdint>

namespace executorch::kernels::optimized {
namespace {

/// Calls f(vector, index, lanes in use) over a row; the lanes of the last vector that are beyond
/// the end hold `fill`.
template <int kBytes, class F>
ET_VECTOR_INLINE void for_each_vector(const float* in, int64_t n, float fill, F&& f) {
  using V = typename Lanes<kBytes>::Floats;
  constexpr int64_t kCount = Lanes<kBytes>::kCount;
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount) f(*reinterpret_cast<const V*>(in + i), i, kCount);
  if (i < n) {
    V rest = V{} + fill;
    for (int64_t j = i; j < n; ++j) rest[j - i] = in[j];
    f(rest, i, n - i);
  }
}

template <int kBytes>
ET_VECTOR_INLINE void put(float* out, const typename Lanes<kBytes>::Floats& value, int64_t count) {
  using V = typename Lanes<kBytes>::Floats;
  if (count == Lanes<kBytes>::kCount) {
    *reinterpret_cast<V*>(out) = value;
    return;
  }
  for (int64_t j = 0; j < count; ++j) out[j] = value[j];
}

template <int kBytes>
ET_VECTOR_INLINE float sum_lanes(const typename Lanes<kBytes>::Floats& v) {
  float sum = 0;
  for (int64_t j = 0; j < Lanes<kBytes>::kCount; ++j) sum += v[j];
  return sum;
}

template <int kBytes>
void layer_norm_row(const float* in, float* out, int64_t n, const float* weight, const float* bias,
                    float eps, float* mean, float* rstd) {
  using V = typename Lanes<kBytes>::Floats;
  constexpr int64_t kCount = Lanes<kBytes>::kCount;
  V sums = {};
  for_each_vector<kBytes>(
      in, n, 0.0f, [&](const V& x, int64_t, int64_t) __attribute__((always_inline)) { sums += x; });
  const float center = sum_lanes<kBytes>(sums) / float(n);
  V squares = {};
  // Lanes beyond the end are filled with the mean, so that they add nothing.
  for_each_vector<kBytes>(in, n, center,
                          [&](const V& x, int64_t, int64_t) __attribute__((always_inline)) {
                            squares += (x - center) * (x - center);
                          });
  const float scale = 1.0f / __builtin_sqrtf(sum_lanes<kBytes>(squares) / float(n) + eps);
  for_each_vector<kBytes>(
      in, n, 0.0f, [&](const V& x, int64_t i, int64_t count) __attribute__((always_inline)) {
        if (count == kCount) {
          V y = (x - center) * scale;
          if (weight) y *= *reinterpret_cast<const V*>(weight + i);
          if (bias) y += *reinterpret_cast<const V*>(bias + i);
          *reinterpret_cast<V*>(out + i) = y;
          return;
        }
        for (int64_t j = 0; j < count; ++j) {
          const float y = (x[j] - center) * scale * (weight ? weight[i + j] : 1.0f);
          out[i + j] = y + (bias ? bias[i + j] : 0.0f);
        }
      });
  *mean = center;
  *rstd = scale;
}

}  // namespace
}  // namespace executorch::kernels::optimized
