// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "three_planes_sse.h"

#include <xmmintrin.h>

#include "xnnpack/transpose.h"

#define PLANES 3

static void interleave(const float* a, const float* b, const float* c, float* output,
                       size_t points) {
  for (; points >= 4; points -= 4) {
    const __m128 va = _mm_loadu_ps(a), vb = _mm_loadu_ps(b), vc = _mm_loadu_ps(c);
    const __m128 first_ab = _mm_unpacklo_ps(va, vb), last_ab = _mm_unpackhi_ps(va, vb);
    const __m128 c0_a1 = _mm_shuffle_ps(vc, va, _MM_SHUFFLE(1, 1, 0, 0));
    const __m128 b1_c1 = _mm_shuffle_ps(vb, vc, _MM_SHUFFLE(1, 1, 1, 1));
    const __m128 c2_a3 = _mm_shuffle_ps(vc, va, _MM_SHUFFLE(3, 3, 2, 2));
    const __m128 b3_c3 = _mm_shuffle_ps(vb, vc, _MM_SHUFFLE(3, 3, 3, 3));
    _mm_storeu_ps(output, _mm_shuffle_ps(first_ab, c0_a1, _MM_SHUFFLE(2, 0, 1, 0)));
    _mm_storeu_ps(output + 4, _mm_shuffle_ps(b1_c1, last_ab, _MM_SHUFFLE(1, 0, 2, 0)));
    _mm_storeu_ps(output + 8, _mm_shuffle_ps(c2_a3, b3_c3, _MM_SHUFFLE(2, 0, 2, 0)));
    a += 4;
    b += 4;
    c += 4;
    output += 4 * PLANES;
  }
  for (; points != 0; --points) {
    _mm_store_ss(output, _mm_load_ss(a++));
    _mm_store_ss(output + 1, _mm_load_ss(b++));
    _mm_store_ss(output + 2, _mm_load_ss(c++));
    output += PLANES;
  }
}

void executorch_x32_transpose(const uint32_t* input, uint32_t* output, size_t input_stride,
                              size_t output_stride, size_t width, size_t height) {
  if (height != PLANES || output_stride != PLANES * sizeof(uint32_t)) {
    xnn_x32_transposec_ukernel__8x8_reuse_multi_avx(input, output, input_stride, output_stride,
                                                    width, height);
    return;
  }
  const uintptr_t first = (uintptr_t)input;
  interleave((const float*)first, (const float*)(first + input_stride),
             (const float*)(first + 2 * input_stride), (float*)output, width);
}
