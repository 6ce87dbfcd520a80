// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "max_pooling_avx.h"

#include <immintrin.h>
#include <stdint.h>

#include "xnnpack/microparams.h"

#define AVX __attribute__((target("avx")))
#define INLINE AVX static inline __attribute__((always_inline))
#define LANES 8
#define COMMON_WINDOW 9

// Fewer channels than lanes are loaded and stored by a mask.
struct channels {
  size_t count;
  int are_few;
  __m256i mask;
};

INLINE __m256 element(const float* const* window, size_t i, size_t bytes,
                      const struct channels* channels) {
  const float* const from = (const float*)((uintptr_t)window[i] + bytes);
  return channels->are_few ? _mm256_maskload_ps(from, channels->mask) : _mm256_loadu_ps(from);
}

// Of a window at some channels. The processor's maximum is its second operand where either is NaN,
// or both are zeros: a NaN met first stays, those met later are kept aside.
INLINE __m256 largest(const float* const* window, size_t size, size_t bytes,
                      const struct channels* channels) {
  __m256 most = element(window, 0, bytes, channels), lost = _mm256_setzero_ps();
  size_t i = 1;
#pragma GCC unroll 4
  for (; i + 2 <= size; i += 2) {
    const __m256 a = element(window, i, bytes, channels);
    const __m256 b = element(window, i + 1, bytes, channels);
    lost = _mm256_or_ps(lost, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
    most = _mm256_max_ps(b, _mm256_max_ps(a, most));
  }
  if (i < size) {
    const __m256 a = element(window, i, bytes, channels);
    lost = _mm256_or_ps(lost, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    most = _mm256_max_ps(a, most);
  }
  return _mm256_or_ps(most, lost);  // all bits: a NaN
}

// All channels of a point. The last lanes of many end with the last channel.
INLINE void pool(const float* const* window, size_t size, const struct channels* channels,
                 size_t offset, __m256 least, __m256 limit, float* output) {
  for (size_t c = 0; c < channels->count; c += LANES) {
    const size_t last = channels->count - LANES;
    const size_t first = channels->are_few || c <= last ? c : last;
    const __m256 most = largest(window, size, offset + first * sizeof(float), channels);
    const __m256 result = _mm256_max_ps(least, _mm256_min_ps(limit, most));
    if (channels->are_few) {
      _mm256_maskstore_ps(output, channels->mask, result);
    } else {
      _mm256_storeu_ps(output + first, result);
    }
  }
}

struct points {
  size_t count, window;
  const float** input;
  size_t offset;
  float* output;
  size_t input_increment, output_increment;
};

INLINE void pool_all(struct points points, const struct channels* channels, __m256 least,
                     __m256 limit) {
  const float** input = points.input;
  float* output = points.output;
  for (size_t left = points.count; left != 0; --left) {
    if (points.window == COMMON_WINDOW) {
      const float* own[COMMON_WINDOW];
#pragma GCC unroll 9
      for (size_t i = 0; i < COMMON_WINDOW; ++i) {
        own[i] = input[i];
      }
      pool(own, COMMON_WINDOW, channels, points.offset, least, limit, output);
    } else {
      pool(input, points.window, channels, points.offset, least, limit, output);
    }
    input = (const float**)((uintptr_t)input + points.input_increment);
    output = (float*)((uintptr_t)output + points.output_increment);
  }
}

AVX void executorch_f32_max_pooling_avx(size_t points, size_t window, size_t channels,
                                        const float** input, size_t input_offset, float* output,
                                        size_t input_increment, size_t output_increment,
                                        const union xnn_f32_minmax_params* params) {
  // The increment counts from the pointer behind those that XNNPACK's passes take.
  const size_t passed = window <= COMMON_WINDOW
                            ? COMMON_WINDOW
                            : COMMON_WINDOW + (window - COMMON_WINDOW + 7) / 8 * 8;
  const struct points all = {points,
                             window,
                             input,
                             input_offset,
                             output,
                             passed * sizeof(void*) + input_increment,
                             channels * sizeof(float) + output_increment};
  const __m256 least = _mm256_set1_ps(params->scalar.min);
  const __m256 limit = _mm256_set1_ps(params->scalar.max);
  if (channels >= LANES) {
    const struct channels many = {.count = channels, .are_few = 0};
    pool_all(all, &many, least, limit);
  } else {
    int32_t mask[LANES];
    for (size_t lane = 0; lane < LANES; ++lane) {
      mask[lane] = lane < channels ? -1 : 0;
    }
    const struct channels few = {
        .count = channels, .are_few = 1, .mask = _mm256_loadu_si256((const __m256i*)mask)};
    pool_all(all, &few, least, limit);
  }
}
