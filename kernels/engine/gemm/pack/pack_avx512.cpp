// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_avx512.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#include <cstdint>

#define AVX512 __attribute__((target("avx512f")))
#define INLINE AVX512 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kSide = 16;
/// Panels of at least this size that are read later would leave the caches before, so they are
/// stored past the caches.
constexpr size_t kStreamedBytes = size_t{1} << 14;

INLINE __mmask16 mask_of(size_t count) { return __mmask16((1u << count) - 1); }

/// In each group of four lines, element l of line c moves to column 4 l + c of the group's rows.
INLINE void transpose_lanes(__m512* line) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kSide; i += 4) {
    const __m512 low01 = _mm512_unpacklo_ps(line[i], line[i + 1]);
    const __m512 high01 = _mm512_unpackhi_ps(line[i], line[i + 1]);
    const __m512 low23 = _mm512_unpacklo_ps(line[i + 2], line[i + 3]);
    const __m512 high23 = _mm512_unpackhi_ps(line[i + 2], line[i + 3]);
    const __m512d a = _mm512_castps_pd(low01), b = _mm512_castps_pd(low23);
    const __m512d c = _mm512_castps_pd(high01), d = _mm512_castps_pd(high23);
    line[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    line[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    line[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    line[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
  }
}

INLINE void transpose(__m512* line) {
  transpose_lanes(line);
  constexpr int kEven = 0x88, kOdd = 0xdd;
#pragma GCC unroll 4
  for (size_t c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(line[c], line[4 + c], kEven);
    const __m512 odd01 = _mm512_shuffle_f32x4(line[c], line[4 + c], kOdd);
    const __m512 even23 = _mm512_shuffle_f32x4(line[8 + c], line[12 + c], kEven);
    const __m512 odd23 = _mm512_shuffle_f32x4(line[8 + c], line[12 + c], kOdd);
    line[c] = _mm512_shuffle_f32x4(even01, even23, kEven);
    line[4 + c] = _mm512_shuffle_f32x4(odd01, odd23, kEven);
    line[8 + c] = _mm512_shuffle_f32x4(even01, even23, kOdd);
    line[12 + c] = _mm512_shuffle_f32x4(odd01, odd23, kOdd);
  }
}

INLINE void load(const float* from, size_t rows, size_t stride, size_t count, __m512* line) {
  if (rows == kSide && count == kSide) {
    // Hardware prefetchers do not follow sixteen streams.
    constexpr size_t kAhead = 3 * kSide;
#pragma GCC unroll 16
    for (size_t i = 0; i < kSide; ++i) {
      line[i] = _mm512_loadu_ps(from + i * stride);
      __builtin_prefetch(moved(from + i * stride, kAhead * sizeof(float)), 0, 3);
    }
    return;
  }
  for (size_t i = 0; i < kSide; ++i) {
    line[i] =
        i < rows ? _mm512_maskz_loadu_ps(mask_of(count), from + i * stride) : _mm512_setzero_ps();
  }
}

INLINE void store(const __m512* line, size_t count, float* to, size_t panel, bool streams) {
  if (streams) {
    for (size_t i = 0; i < count; ++i) _mm512_stream_ps(to + i * panel, line[i]);
    return;
  }
  if (count == kSide) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kSide; ++i) _mm512_storeu_ps(to + i * panel, line[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) _mm512_storeu_ps(to + i * panel, line[i]);
}

}  // namespace

AVX512 void pack_rows_avx512(const float* from, size_t rows, size_t stride, size_t depth, float* to,
                             size_t panel, PackedUse use) {
  const bool streams = use == PackedUse::Later &&
                       reinterpret_cast<uintptr_t>(to) % sizeof(__m512) == 0 &&
                       depth * panel * sizeof(float) >= kStreamedBytes;
  for (size_t d = 0; d < depth; d += kSide) {
    const size_t count = depth - d < kSide ? depth - d : kSide;
    for (size_t row = 0; row < rows; row += kSide) {
      const size_t valid = rows - row < kSide ? rows - row : kSide;
      __m512 line[kSide];
      load(from + row * stride + d, valid, stride, count, line);
      transpose(line);
      store(line, count, to + d * panel + row, panel, streams);
    }
  }
  // Streamed stores must be visible before another thread learns that packing is done.
  if (streams) _mm_sfence();
}

AVX512 void transpose_block_avx512(const uint32_t* in, size_t in_stride, uint32_t* out,
                                   size_t out_stride, size_t rows, size_t columns) {
  __m512 line[kSide];
  const __mmask16 valid = mask_of(columns);
  for (size_t r = 0; r < kSide; ++r) {
    line[r] = r < rows ? _mm512_maskz_loadu_ps(valid, in + r * in_stride) : _mm512_setzero_ps();
  }
  transpose(line);
  for (size_t c = 0; c < columns; ++c) {
    if (rows == kSide) {  // a masked store takes several times as long
      _mm512_storeu_ps(out + c * out_stride, line[c]);
    } else {
      _mm512_mask_storeu_ps(out + c * out_stride, mask_of(rows), line[c]);
    }
  }
}

}  // namespace executorch::kernels::engine
#endif
