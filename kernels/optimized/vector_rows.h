// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Loops over rows of float32 for the instruction set of the file that includes this; they make an
// Isa.
#pragma once

#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/optimized/row_loops.h>
#include <executorch/kernels/optimized/vector_math.h>
#include <executorch/kernels/recurrent/cell_loops.h>

namespace executorch::kernels::optimized {
namespace {

template <int kBytes, class F>
ET_VECTOR_INLINE void map(const float* in, float* out, int64_t n, F&& f) {
  for_each_vector<kBytes>(
      in, n, 0.0f,
      [&](const typename Lanes<kBytes>::Floats& x, int64_t i, int64_t count)
          __attribute__((always_inline)) { put<kBytes>(out + i, f(x), count); });
}

#define ET_MAP(name, function)                                                                \
  template <int kBytes>                                                                       \
  void name##_row(const float* in, float* out, int64_t n) {                                   \
    using V = typename Lanes<kBytes>::Floats;                                                 \
    using I = typename Lanes<kBytes>::Ints;                                                   \
    map<kBytes>(in, out, n,                                                                   \
                [](const V& x) __attribute__((always_inline)) { return function<V, I>(x); }); \
  }
ET_MAP(exp, vector_exp)
ET_MAP(sigmoid, vector_sigmoid)
ET_MAP(tanh, float_tanh)
ET_MAP(erf, float_erf)
ET_MAP(gelu, float_gelu)
ET_MAP(gelu_tanh, float_gelu_tanh)
#undef ET_MAP

template <int kBytes>
ET_VECTOR_INLINE float max_of(const float* in, int64_t n) {
  using V = typename Lanes<kBytes>::Floats;
  V most = V{} - __builtin_inff();
  for_each_vector<kBytes>(in, n, -__builtin_inff(),
                          [&](const V& x, int64_t, int64_t)
                              __attribute__((always_inline)) { most = x > most ? x : most; });
  float result = most[0];
  for (int64_t j = 1; j < Lanes<kBytes>::kCount; ++j) result = most[j] > result ? most[j] : result;
  return result;
}

template <int kBytes>
void softmax_row(const float* in, float* out, int64_t n) {
  using V = typename Lanes<kBytes>::Floats;
  using I = typename Lanes<kBytes>::Ints;
  const float most = max_of<kBytes>(in, n);
  V sums = {};
  float rest = 0;
  for_each_vector<kBytes>(in, n, 0.0f,
                          [&](const V& x, int64_t i, int64_t count) __attribute__((always_inline)) {
                            const V e = vector_exp<V, I>(x - most);
                            put<kBytes>(out + i, e, count);
                            if (count == Lanes<kBytes>::kCount) {
                              sums += e;
                            } else {
                              for (int64_t j = 0; j < count; ++j) rest += e[j];
                            }
                          });
  const float factor = 1.0f / (sum_lanes<kBytes>(sums) + rest);
  map<kBytes>(out, out, n, [&](const V& e) __attribute__((always_inline)) { return e * factor; });
}

template <int kBytes>
void log_softmax_row(const float* in, float* out, int64_t n) {
  using V = typename Lanes<kBytes>::Floats;
  using I = typename Lanes<kBytes>::Ints;
  const float most = max_of<kBytes>(in, n);
  V sums = {};
  float rest = 0;
  for_each_vector<kBytes>(in, n, 0.0f,
                          [&](const V& x, int64_t, int64_t count) __attribute__((always_inline)) {
                            const V e = vector_exp<V, I>(x - most);
                            if (count == Lanes<kBytes>::kCount) {
                              sums += e;
                            } else {
                              for (int64_t j = 0; j < count; ++j) rest += e[j];
                            }
                          });
  const float shift = __builtin_logf(sum_lanes<kBytes>(sums) + rest);
  map<kBytes>(in, out, n,
              [&](const V& x) __attribute__((always_inline)) { return x - most - shift; });
}

/// The sum of f(x), for an f of vectors that is 0 where x is `fill`.
template <int kBytes, class F>
ET_VECTOR_INLINE float sum_of(const float* in, int64_t n, float fill, F&& f) {
  using V = typename Lanes<kBytes>::Floats;
  constexpr int64_t kStep = 4 * Lanes<kBytes>::kCount;
  // Several sums, so that one addition need not wait for another.
  V sums[4] = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; ++j) {
      sums[j] += f(*reinterpret_cast<const V*>(in + i + j * Lanes<kBytes>::kCount));
    }
  }
  for_each_vector<kBytes>(in + i, n - i, fill,
                          [&](const V& x, int64_t, int64_t)
                              __attribute__((always_inline)) { sums[0] += f(x); });
  return sum_lanes<kBytes>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <int kBytes>
float sum_row(const float* in, int64_t n) {
  using V = typename Lanes<kBytes>::Floats;
  return sum_of<kBytes>(in, n, 0.0f, [](const V& x) __attribute__((always_inline)) { return x; });
}

template <int kBytes>
float squares_row(const float* in, int64_t n, float center) {
  using V = typename Lanes<kBytes>::Floats;
  return sum_of<kBytes>(in, n, center, [&](const V& x) __attribute__((always_inline)) {
    return (x - center) * (x - center);
  });
}

template <int kBytes>
void scale_row(const float* in, float* out, int64_t n, float center, float factor, float addend) {
  using V = typename Lanes<kBytes>::Floats;
  map<kBytes>(in, out, n, [&](const V& x) __attribute__((always_inline)) {
    return (x - center) * factor + addend;
  });
}

/// All of it for vectors of kBytes.
template <int kBytes>
constexpr Isa vector_isa(const char* name, const GemmTiles& tiles) {
  return {name,
          tiles,
          {cell_steps<float, kBytes>(), cell_steps<double, kBytes>()},
          &exp_row<kBytes>,
          &sigmoid_row<kBytes>,
          &tanh_row<kBytes>,
          &erf_row<kBytes>,
          &gelu_row<kBytes>,
          &gelu_tanh_row<kBytes>,
          &softmax_row<kBytes>,
          &log_softmax_row<kBytes>,
          &layer_norm_row<kBytes>,
          &sum_row<kBytes>,
          &squares_row<kBytes>,
          &scale_row<kBytes>};
}

}  // namespace
}  // namespace executorch::kernels::optimized
