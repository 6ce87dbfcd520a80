// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of int8 convolutions with groups of 4 or 8 channels, for AVX2. Vectors hold eight
// neighboring outputs; one instruction multiplies and adds two inputs of each. Two inputs, extended
// to 16 bits, are a pair of 32 bits, repeated for all outputs of its group.
#include <executorch/kernels/engine/qdepthwise/row.h>
#include <executorch/kernels/engine/qgemm/words_avx2.h>

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

namespace executorch::kernels::engine {
namespace {

constexpr QDepthwiseLayout kLayout = {1, 2, 0, 0};
constexpr size_t kBlock = kLayout.block(), kStepBytes = kLayout.step_bytes(), kPoints = 4;

/// The inputs of a block's `count` outputs, kBlock or half as many, as pairs.
ET_AVX2_INLINE __m256i pairs_at(const int8_t* pixel, size_t count) {
  __m128i bytes = _mm_setzero_si128();
  if (count == kBlock) {
    bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixel));
  } else {
    std::memcpy(&bytes, pixel, kBlock / 2);
  }
  return _mm256_castsi128_si256(_mm_cvtepi8_epi16(bytes));
}

/// The places of the pairs that outputs of groups with kPairs pairs multiply.
template <size_t kPairs>
ET_AVX2_INLINE __m256i places_of(size_t pair) {
  const __m256i first =
      kPairs == 2 ? _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2) : _mm256_setzero_si256();
  return _mm256_add_epi32(first, _mm256_set1_epi32(int32_t(pair)));
}

/// kWindows neighboring windows of `count` outputs from `channel` on.
template <size_t kPairs, size_t kWindows, class Begin, class Finish>
ET_AVX2_INLINE void sum_windows(const QDepthwiseRow& row, size_t channel, size_t count,
                                const int8_t* packed, size_t x, const Begin& begin,
                                const Finish& finish) {
  __m256i sums[kWindows];
#pragma GCC unroll 4
  for (size_t p = 0; p < kWindows; ++p) sums[p] = begin(packed);
  const int8_t* weights = packed + kStepBytes;
  const int8_t* const* table = row.table + x * row.step;
  for (size_t taps = row.taps(); taps > 0; --taps, ++table, weights += kPairs * kStepBytes) {
    __m256i pairs[kWindows];
#pragma GCC unroll 4
    for (size_t p = 0; p < kWindows; ++p) {
      pairs[p] = pairs_at(table[p * row.step] + channel, count);
    }
#pragma GCC unroll 4
    for (size_t pair = 0; pair < kPairs; ++pair) {
      const __m256i weight = ints_at(weights + pair * kStepBytes);
#pragma GCC unroll 4
      for (size_t p = 0; p < kWindows; ++p) {
        const __m256i repeated = _mm256_permutevar8x32_epi32(pairs[p], places_of<kPairs>(pair));
        sums[p] = _mm256_add_epi32(sums[p], _mm256_madd_epi16(repeated, weight));
      }
    }
  }
#pragma GCC unroll 4
  for (size_t p = 0; p < kWindows; ++p) finish(x + p, channel, count, sums[p], weights);
}

/// Calls begin(packed) for the first sums of each window and block, and finish(x, channel, number
/// of channels, sums, packed scales) with the last.
template <size_t kPairs, class Begin, class Finish>
ET_AVX2_INLINE void for_each_result(const QDepthwiseRow& given, const Begin& begin,
                                    const Finish& finish) {
  const QDepthwiseRow row = given;  // a copy that no store can alias
  const int8_t* packed = row.packed;
  for (size_t c = 0; c < row.channels; c += kBlock, packed += row.block_bytes()) {
    const size_t count = std::min(row.channels - c, kBlock);
    size_t x = 0;
    for (; x + kPoints <= row.width; x += kPoints) {
      sum_windows<kPairs, kPoints>(row, c, count, packed, x, begin, finish);
    }
    for (; x < row.width; ++x) {
      sum_windows<kPairs, 1>(row, c, count, packed, x, begin, finish);
    }
  }
}

template <class Begin, class Finish>
ET_AVX2_INLINE void for_each_result(const QDepthwiseRow& row, const Begin& begin,
                                    const Finish& finish) {
  if (row.group == 4) return for_each_result<2>(row, begin, finish);
  for_each_result<4>(row, begin, finish);
}

struct FirstSums {
  ET_AVX2_INLINE __m256i operator()(const int8_t* packed) const { return ints_at(packed); }
};

/// Minus the sums of weights times the zero point.
struct FirstDynamicSums {
  __m256i zero_point;
  ET_AVX2_INLINE __m256i operator()(const int8_t* packed) const {
    return _mm256_mullo_epi32(ints_at(packed), zero_point);
  }
};

struct StoreBytes {
  int8_t* out;
  size_t stride;
  const Requantization& to;
  __m128i least;

  ET_AVX2_INLINE void operator()(size_t x, size_t channel, size_t count, __m256i sums,
                                 const int8_t* scales) const {
    const __m256i words = ToWords(to, floats_at(scales), floats_at(scales))(sums, sums);
    const __m256i bytes = _mm256_packs_epi16(words, words);
    const __m128i ordered =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    const __m128i clamped = _mm_max_epi8(ordered, least);
    std::memcpy(out + x * stride + channel, &clamped, count == kBlock ? kBlock : kBlock / 2);
  }
};

struct StoreFloats {
  float* out;
  size_t stride;
  ToFloats to_float;
  __m256 row_scale;

  ET_AVX2_INLINE void operator()(size_t x, size_t channel, size_t count, __m256i sums,
                                 const int8_t* scales) const {
    const __m256 results =
        to_float(sums, row_scale, floats_at(scales), floats_at(scales + kStepBytes));
    std::memcpy(out + x * stride + channel, &results, count * sizeof(float));
  }
};

ET_AVX2 void to_bytes(const QDepthwiseRow& row, int8_t* out, size_t stride,
                      const Requantization& given) {
  const Requantization to = given;
  for_each_result(row, FirstSums(), StoreBytes{out, stride, to, _mm_set1_epi8(int8_t(to.out_min))});
}

ET_AVX2 void to_floats(const QDepthwiseRow& row, float* out, size_t stride, const QDynamic& how) {
  for_each_result(row, FirstDynamicSums{_mm256_set1_epi32(how.row(0).zero_point)},
                  StoreFloats{out, stride, ToFloats(how), _mm256_set1_ps(how.row(0).scale)});
}

}  // namespace

const QDepthwiseKernel& qsmall_groups_avx2() {
  static constexpr QDepthwiseKernel kKernel = {InstructionSet::Avx2, "qsmall_groups_avx2", kLayout,
                                               to_bytes, to_floats};
  return kKernel;
}

}  // namespace executorch::kernels::engine
#endif
