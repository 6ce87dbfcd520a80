// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of int8 convolutions with groups of 4, 8 or 16 channels, for AVX-512 with VNNI. Vectors hold
// 16 neighboring outputs; one instruction multiplies and adds four inputs of each. Four inputs are
// a word of 32 bits, offset by 128 and repeated for all outputs of its group.
#include <executorch/kernels/engine/qdepthwise/row.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#include <algorithm>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE VNNI inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr QDepthwiseLayout kLayout = {1, 4, 0, 128};
constexpr size_t kBlock = kLayout.block(), kStepBytes = kLayout.step_bytes(), kPoints = 4;

INLINE __m512 floats_at(const int8_t* bytes) {
  return _mm512_loadu_ps(reinterpret_cast<const float*>(bytes));
}

/// The words of a block's inputs that outputs of groups with kWords words multiply.
template <size_t kWords>
struct Places {
  __m512i of[kWords];

  INLINE Places() {
    alignas(64) int32_t places[kBlock];
    for (size_t word = 0; word < kWords; ++word) {
      for (size_t i = 0; i < kBlock; ++i) {
        places[i] = int32_t(i / (4 * kWords) * kWords + word);
      }
      of[word] = _mm512_load_si512(places);
    }
  }
};

/// kWindows neighboring windows of a block of outputs. valid: its channels.
template <size_t kWords, size_t kWindows, class Begin, class Finish>
INLINE void sum_windows(const QDepthwiseRow& row, const Places<kWords>& places, size_t channel,
                        __mmask16 valid, const int8_t* packed, size_t x, const Begin& begin,
                        const Finish& finish) {
  const __m128i offset = _mm_set1_epi8(char(0x80));
  __m512i sums[kWindows];
#pragma GCC unroll 4
  for (size_t p = 0; p < kWindows; ++p) sums[p] = begin(packed);
  const int8_t* weights = packed + kStepBytes;
  const int8_t* const* table = row.table + x * row.step;
  for (size_t taps = row.taps(); taps > 0; --taps, ++table, weights += kWords * kStepBytes) {
    __m512i words[kWindows];
#pragma GCC unroll 4
    for (size_t p = 0; p < kWindows; ++p) {
      const __m128i bytes = _mm_maskz_loadu_epi8(valid, table[p * row.step] + channel);
      words[p] = _mm512_zextsi128_si512(_mm_xor_si128(bytes, offset));
    }
#pragma GCC unroll 4
    for (size_t word = 0; word < kWords; ++word) {
      const __m512i weight = _mm512_loadu_si512(weights + word * kStepBytes);
#pragma GCC unroll 4
      for (size_t p = 0; p < kWindows; ++p) {
        const __m512i repeated = _mm512_permutexvar_epi32(places.of[word], words[p]);
        sums[p] = _mm512_dpbusd_epi32(sums[p], repeated, weight);
      }
    }
  }
#pragma GCC unroll 4
  for (size_t p = 0; p < kWindows; ++p) finish(x + p, channel, valid, sums[p], weights);
}

/// Calls begin(packed) for the first sums of each window and block, and finish(x, channel, valid
/// channels, sums, packed scales) with the last.
template <size_t kWords, class Begin, class Finish>
INLINE void for_each_result(const QDepthwiseRow& given, const Begin& begin, const Finish& finish) {
  const QDepthwiseRow row = given;  // a copy that no store can alias
  const Places<kWords> places;
  const int8_t* packed = row.packed;
  for (size_t c = 0; c < row.channels; c += kBlock, packed += row.block_bytes()) {
    const size_t count = std::min(row.channels - c, kBlock);
    const auto valid = __mmask16(0xffffu >> (kBlock - count));
    size_t x = 0;
    for (; x + kPoints <= row.width; x += kPoints) {
      sum_windows<kWords, kPoints>(row, places, c, valid, packed, x, begin, finish);
    }
    for (; x < row.width; ++x) {
      sum_windows<kWords, 1>(row, places, c, valid, packed, x, begin, finish);
    }
  }
}

template <class Begin, class Finish>
INLINE void for_each_result(const QDepthwiseRow& row, const Begin& begin, const Finish& finish) {
  switch (row.group) {
    case 4:
      return for_each_result<1>(row, begin, finish);
    case 8:
      return for_each_result<2>(row, begin, finish);
    default:
      return for_each_result<4>(row, begin, finish);
  }
}

struct FirstSums {
  INLINE __m512i operator()(const int8_t* packed) const { return _mm512_loadu_si512(packed); }
};

/// Minus the sums of weights times the zero point.
struct FirstDynamicSums {
  __m512i zero_point;
  INLINE __m512i operator()(const int8_t* packed) const {
    return _mm512_mullo_epi32(_mm512_loadu_si512(packed), zero_point);
  }
};

struct StoreBytes {
  int8_t* out;
  size_t stride;
  __m512 most;
  __m256i zeros;
  __m128i least;

  /// Clamps to the upper limit first, in floats: conversion makes numbers beyond int32 the smallest
  /// integer.
  INLINE void operator()(size_t x, size_t channel, __mmask16 valid, __m512i sums,
                         const int8_t* scales) const {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), floats_at(scales));
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_min_ps(scaled, most));
    const __m256i words = _mm256_adds_epi16(_mm512_cvtsepi32_epi16(rounded), zeros);
    const __m128i bytes = _mm_max_epi8(_mm256_cvtsepi16_epi8(words), least);
    _mm_mask_storeu_epi8(out + x * stride + channel, valid, bytes);
  }
};

struct StoreFloats {
  float* out;
  size_t stride;
  __m512 least, most, row_scale;

  INLINE void operator()(size_t x, size_t channel, __mmask16 valid, __m512i sums,
                         const int8_t* scales) const {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), row_scale);
    const __m512 y = _mm512_fmadd_ps(scaled, floats_at(scales), floats_at(scales + kStepBytes));
    // The instructions return their second operand where either is NaN.
    const __m512 clamped = _mm512_min_ps(most, _mm512_max_ps(least, y));
    _mm512_mask_storeu_ps(out + x * stride + channel, valid, clamped);
  }
};

VNNI void to_bytes(const QDepthwiseRow& row, int8_t* out, size_t stride, const Requantization& to) {
  for_each_result(
      row, FirstSums(),
      StoreBytes{out, stride, _mm512_set1_ps(float(to.out_max - to.zero_point)),
                 _mm256_set1_epi16(int16_t(to.zero_point)), _mm_set1_epi8(char(to.out_min))});
}

VNNI void to_floats(const QDepthwiseRow& row, float* out, size_t stride, const QDynamic& how) {
  const __m512i zero_point = _mm512_set1_epi32(how.row(0).zero_point + kLayout.offset);
  for_each_result(row, FirstDynamicSums{zero_point},
                  StoreFloats{out, stride, _mm512_set1_ps(how.clamp_min),
                              _mm512_set1_ps(how.clamp_max), _mm512_set1_ps(how.row(0).scale)});
}

}  // namespace

const QDepthwiseKernel& qsmall_groups_vnni() {
  static constexpr QDepthwiseKernel kKernel = {InstructionSet::Avx512Vnni, "qsmall_groups_vnni",
                                               kLayout, to_bytes, to_floats};
  return kKernel;
}

}  // namespace executorch::kernels::engine
#endif
