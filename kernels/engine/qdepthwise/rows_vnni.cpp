// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of int8 depthwise convolutions for AVX-512 with VNNI. Four taps of 64 channels are offset by
// 128 and interleaved, so that one instruction multiplies and adds the four taps of 16 channels.
// Neighboring windows of 3 x 3 points share the interleaved columns that they have in common.
#include <executorch/kernels/engine/qdepthwise/row.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#include <algorithm>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE VNNI inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr QDepthwiseLayout kLayout = {4, 4, 3, 128};
constexpr size_t kVectors = 4, kLine = 64, kBlock = 64, kStepBytes = kVectors * kLine;

/// 16 channels in each vector: four of each lane.
struct Vectors {
  __m512i of[kVectors];
};

/// The channels of a block: kCount channels, or the channels of a mask if kCount is 0. Loads and
/// stores with masks are slower.
template <size_t kCount>
struct Channels {
  size_t first;
  __mmask64 valid;

  INLINE __m512i moved(const int8_t* pixel) const {
    const int8_t* const from = pixel + first;
    __m512i bytes;
    if constexpr (kCount == 64) {
      bytes = _mm512_loadu_si512(from);
    } else if constexpr (kCount == 32) {
      bytes = _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    } else if constexpr (kCount == 16) {
      bytes = _mm512_zextsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    } else {
      bytes = _mm512_maskz_loadu_epi8(valid, from);
    }
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(char(0x80)));
  }
  INLINE void store(int8_t* pixel, __m512i bytes) const {
    int8_t* const to = pixel + first;
    if constexpr (kCount == 64) {
      _mm512_storeu_si512(to, bytes);
    } else if constexpr (kCount == 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    } else if constexpr (kCount == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(bytes));
    } else {
      _mm512_mask_storeu_epi8(to, valid, bytes);
    }
  }
  INLINE void store(float* pixel, const float* values) const {
#pragma GCC unroll 4
    for (size_t i = 0; i < kVectors; ++i) {
      _mm512_mask_storeu_ps(pixel + first + 16 * i, __mmask16(valid >> (16 * i)),
                            _mm512_load_ps(values + 16 * i));
    }
  }
};

/// A step's taps, next to each other for each channel.
INLINE Vectors interleave(__m512i first, __m512i second, __m512i third, __m512i fourth) {
  const __m512i low[] = {_mm512_unpacklo_epi8(first, second), _mm512_unpacklo_epi8(third, fourth)};
  const __m512i high[] = {_mm512_unpackhi_epi8(first, second), _mm512_unpackhi_epi8(third, fourth)};
  return {{_mm512_unpacklo_epi16(low[0], low[1]), _mm512_unpackhi_epi16(low[0], low[1]),
           _mm512_unpacklo_epi16(high[0], high[1]), _mm512_unpackhi_epi16(high[0], high[1])}};
}
/// A column of three points; 0 is the weight of the fourth.
template <size_t kCount>
INLINE Vectors column_at(const Channels<kCount>& channels, const int8_t* const* table) {
  const __m512i last = channels.moved(table[2]);
  return interleave(channels.moved(table[0]), channels.moved(table[1]), last, last);
}

INLINE Vectors ints_at(const int8_t* bytes) {
  return {{_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + kLine),
           _mm512_loadu_si512(bytes + 2 * kLine), _mm512_loadu_si512(bytes + 3 * kLine)}};
}

INLINE __m512 floats_at(const int8_t* bytes, size_t vector) {
  return _mm512_loadu_ps(reinterpret_cast<const float*>(bytes + vector * kLine));
}

INLINE void add_step(const Vectors& taps, const int8_t* weights, Vectors& sums) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kVectors; ++i) {
    sums.of[i] =
        _mm512_dpbusd_epi32(sums.of[i], taps.of[i], _mm512_loadu_si512(weights + i * kLine));
  }
}

/// A row's windows of 3 x 3 points that are one column apart: each column is interleaved once.
template <size_t kCount, class Begin, class Finish>
struct Squares {
  const Channels<kCount>& channels;
  const int8_t* packed;
  const Begin& begin;
  const Finish& finish;
  const int8_t* const* table;

  INLINE Vectors next_column() {
    const Vectors column = column_at(channels, table);
    table += 3;
    return column;
  }
  INLINE void compute(size_t x, const Vectors& left, const Vectors& middle,
                      const Vectors& right) const {
    const int8_t* const weights = packed + kStepBytes;
    Vectors sums = begin(packed);
    add_step(left, weights, sums);
    add_step(middle, weights + kStepBytes, sums);
    add_step(right, weights + 2 * kStepBytes, sums);
    finish(x, channels, sums, weights + 3 * kStepBytes);
  }
  INLINE void compute_row(size_t width) {
    Vectors a = next_column(), b = next_column();
    size_t x = 0;
    for (; x + 3 <= width; x += 3) {
      const Vectors c = next_column();
      compute(x, a, b, c);
      a = next_column();
      compute(x + 1, b, c, a);
      b = next_column();
      compute(x + 2, c, a, b);
    }
    if (x == width) return;
    const Vectors c = next_column();
    compute(x, a, b, c);
    if (x + 1 < width) compute(x + 1, b, c, next_column());
  }
};

template <size_t kCount, class Begin, class Finish>
INLINE void for_each_window(const QDepthwiseRow& row, const Channels<kCount>& channels,
                            const int8_t* packed, const Begin& begin, const Finish& finish) {
  const size_t taps = row.taps(), step_taps = row.step_taps();
  for (size_t x = 0; x < row.width; ++x) {
    const int8_t* const* table = row.table + x * row.step;
    const int8_t* weights = packed + kStepBytes;
    Vectors sums = begin(packed);
    size_t left = taps;
    for (; left >= step_taps; left -= step_taps, table += step_taps, weights += kStepBytes) {
      if (step_taps == 3) {
        add_step(column_at(channels, table), weights, sums);
      } else {
        add_step(interleave(channels.moved(table[0]), channels.moved(table[1]),
                            channels.moved(table[2]), channels.moved(table[3])),
                 weights, sums);
      }
    }
    if (left > 0) {
      const __m512i last = channels.moved(table[left - 1]);
      add_step(interleave(channels.moved(table[0]),
                          channels.moved(table[std::min(left - 1, size_t{1})]), last, last),
               weights, sums);
      weights += kStepBytes;
    }
    finish(x, channels, sums, weights);
  }
}

/// Calls begin(packed) for each block's first sums and finish(x, channels, sums, packed scales)
/// with the last.
template <size_t kCount, class Begin, class Finish>
INLINE void for_each_result(const QDepthwiseRow& row, const Channels<kCount>& channels,
                            const int8_t* packed, const Begin& begin, const Finish& finish) {
  if (row.kernel_height == 3 && row.kernel_width == 3 && row.step == 3 && row.width > 0) {
    Squares<kCount, Begin, Finish>{channels, packed, begin, finish, row.table}.compute_row(
        row.width);
  } else {
    for_each_window(row, channels, packed, begin, finish);
  }
}

/// Static convolutions have loops for common numbers of channels; dynamic ones are too rare to be
/// worth the code.
template <bool kIsStatic, class Begin, class Finish>
INLINE void for_each_block(const QDepthwiseRow& given, const Begin& begin, const Finish& finish) {
  const QDepthwiseRow row = given;  // a copy that no store can alias
  const int8_t* packed = row.packed;
  for (size_t first = 0; first < row.channels; first += kBlock, packed += row.block_bytes()) {
    const size_t count = std::min(row.channels - first, kBlock);
    const __mmask64 valid = ~__mmask64{0} >> (kBlock - count);
    if (!kIsStatic) {
      for_each_window(row, Channels<0>{first, valid}, packed, begin, finish);
    } else if (count == kBlock) {
      for_each_result(row, Channels<kBlock>{first, valid}, packed, begin, finish);
    } else if (count == kBlock / 2) {
      for_each_result(row, Channels<kBlock / 2>{first, valid}, packed, begin, finish);
    } else if (count == kBlock / 4) {
      for_each_result(row, Channels<kBlock / 4>{first, valid}, packed, begin, finish);
    } else {
      for_each_result(row, Channels<0>{first, valid}, packed, begin, finish);
    }
  }
}

struct FirstSums {
  INLINE Vectors operator()(const int8_t* packed) const { return ints_at(packed); }
};

/// Minus the sums of weights times the zero point.
struct FirstDynamicSums {
  __m512i zero_point;
  INLINE Vectors operator()(const int8_t* packed) const {
    Vectors sums = ints_at(packed);
#pragma GCC unroll 4
    for (__m512i& sum : sums.of) sum = _mm512_mullo_epi32(sum, zero_point);
    return sums;
  }
};

struct StoreBytes {
  int8_t* out;
  size_t stride;
  __m512 most;
  __m512i zeros, least;

  INLINE StoreBytes(int8_t* to, size_t to_stride, const Requantization& how)
      : out(to),
        stride(to_stride),
        most(_mm512_set1_ps(float(how.out_max - how.zero_point))),
        zeros(_mm512_set1_epi16(int16_t(how.zero_point))),
        least(_mm512_set1_epi8(char(how.out_min))) {}

  /// Converts two vectors to words. Clamps to the upper limit first, in floats: conversion makes
  /// numbers beyond int32 the smallest integer.
  INLINE __m512i words(const Vectors& sums, const int8_t* scales, size_t vector) const {
    __m512i rounded[2];
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; ++i) {
      const __m512 scaled =
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums.of[vector + i]), floats_at(scales, vector + i));
      rounded[i] = _mm512_cvtps_epi32(_mm512_min_ps(scaled, most));
    }
    return _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zeros);
  }

  template <size_t kCount>
  INLINE void operator()(size_t x, const Channels<kCount>& channels, const Vectors& sums,
                         const int8_t* scales) const {
    const __m512i bytes = _mm512_packs_epi16(words(sums, scales, 0), words(sums, scales, 2));
    channels.store(out + x * stride, _mm512_max_epi8(bytes, least));
  }
};

struct StoreFloats {
  float* out;
  size_t stride;
  __m512 least, most, row_scale;

  template <size_t kCount>
  INLINE void operator()(size_t x, const Channels<kCount>& channels, const Vectors& sums,
                         const int8_t* scales) const {
    alignas(kLine) float ordered[kBlock];
#pragma GCC unroll 4
    for (size_t i = 0; i < kVectors; ++i) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.of[i]), row_scale);
      const __m512 y =
          _mm512_fmadd_ps(scaled, floats_at(scales, i), floats_at(scales + kStepBytes, i));
      // The instructions return their second operand where either is NaN.
      const __m512 clamped = _mm512_min_ps(most, _mm512_max_ps(least, y));
      _mm_store_ps(ordered + 4 * i, _mm512_castps512_ps128(clamped));
      _mm_store_ps(ordered + 16 + 4 * i, _mm512_extractf32x4_ps(clamped, 1));
      _mm_store_ps(ordered + 32 + 4 * i, _mm512_extractf32x4_ps(clamped, 2));
      _mm_store_ps(ordered + 48 + 4 * i, _mm512_extractf32x4_ps(clamped, 3));
    }
    channels.store(out + x * stride, ordered);
  }
};

VNNI void to_bytes(const QDepthwiseRow& row, int8_t* out, size_t stride, const Requantization& to) {
  for_each_block<true>(row, FirstSums(), StoreBytes(out, stride, to));
}

VNNI void to_floats(const QDepthwiseRow& row, float* out, size_t stride, const QDynamic& how) {
  const __m512i zero_point = _mm512_set1_epi32(how.row(0).zero_point + kLayout.offset);
  for_each_block<false>(
      row, FirstDynamicSums{zero_point},
      StoreFloats{out, stride, _mm512_set1_ps(how.clamp_min), _mm512_set1_ps(how.clamp_max),
                  _mm512_set1_ps(how.row(0).scale)});
}

}  // namespace

const QDepthwiseKernel& qdepthwise_vnni() {
  static constexpr QDepthwiseKernel kKernel = {InstructionSet::Avx512Vnni, "qdepthwise_vnni",
                                               kLayout, to_bytes, to_floats};
  return kKernel;
}

}  // namespace executorch::kernels::engine
#endif
