// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of int8 depthwise convolutions for AVX2. Two taps of 16 channels are extended to 16 bits
// and interleaved, so that one multiplication adds both taps of eight channels. Sharing extended
// columns between neighboring windows was not faster: their sums leave no registers for them.
#include <executorch/kernels/engine/qdepthwise/row.h>
#include <executorch/kernels/engine/qgemm/words_avx2.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::engine {
namespace {

/// 16 channels extended to 16 bits. A load extends at twice the speed of a register.
struct WholeBlock {
  ET_AVX2_INLINE __m256i operator()(const int8_t* pixel, size_t channel) const {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel + channel)));
  }
};

/// Eight channels.
struct HalfBlock {
  ET_AVX2_INLINE __m256i operator()(const int8_t* pixel, size_t channel) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixel + channel));
    return _mm256_zextsi128_si256(_mm_cvtepi8_epi16(bytes));
  }
};

/// The channels of a partial last block, loaded from the last 16 bytes of a pixel.
class LastOfMany {
 public:
  ET_AVX2_INLINE explicit LastOfMany(size_t channels) : first_(channels - kQDepthwiseBlock) {
    const int skipped = int(kQDepthwiseBlock - channels % kQDepthwiseBlock);
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i moved = _mm_add_epi8(places, _mm_set1_epi8(int8_t(skipped)));
    // Shuffling writes 0 where the highest bit is set.
    shuffle_ = _mm_or_si128(moved, _mm_cmpgt_epi8(moved, _mm_set1_epi8(15)));
  }
  ET_AVX2_INLINE __m256i operator()(const int8_t* pixel, size_t) const {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel + first_));
    return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, shuffle_));
  }

 private:
  size_t first_;
  __m128i shuffle_;
};

/// The channels of pixels with fewer than 16.
struct OnlyBlock {
  size_t channels;
  ET_AVX2_INLINE __m256i operator()(const int8_t* pixel, size_t) const {
    alignas(16) int8_t bytes[kQDepthwiseBlock] = {};
    std::memcpy(bytes, pixel, channels);
    return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
};

struct Sums {
  __m256i low, high;
};

template <class Load>
ET_AVX2_INLINE void add_pair(const Load& load, const int8_t* first, const int8_t* second,
                             size_t channel, const int8_t* weights, Sums& sums) {
  const __m256i a = load(first, channel), b = load(second, channel);
  sums.low =
      _mm256_add_epi32(sums.low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), ints_at(weights)));
  sums.high = _mm256_add_epi32(
      sums.high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), ints_at(weights + 32)));
}

/// Adds the products of a block. kTaps: their number if it is known, else 0.
template <size_t kTaps, class Load>
ET_AVX2_INLINE void add_taps(const QDepthwiseRow& row, const int8_t* const* table, const Load& load,
                             size_t channel, const int8_t* weights, Sums& sums) {
  const size_t taps = kTaps == 0 ? row.taps() : kTaps, whole = taps / 2 * 2;
#pragma GCC unroll 4
  for (size_t tap = 0; tap < whole; tap += 2, weights += 64) {
    add_pair(load, table[tap], table[tap + 1], channel, weights, sums);
  }
  if (whole < taps) add_pair(load, table[whole], table[whole], channel, weights, sums);
}

/// Calls begin(packed) for each block's first sums and finish(x, channel, channels, sums, packed
/// scales) with the last.
template <size_t kTaps, class Begin, class Finish>
ET_AVX2_INLINE void for_each_block(const QDepthwiseRow& given, const Begin& begin,
                                   const Finish& finish) {
  const QDepthwiseRow row = given;  // a copy that no store can alias
  const size_t whole = row.channels / kQDepthwiseBlock * kQDepthwiseBlock;
  const size_t rest = row.channels - whole, bytes = row.block_bytes(), scales = row.scales_at();
  const LastOfMany last(std::max(row.channels, kQDepthwiseBlock));
  for (size_t x = 0; x < row.width; ++x) {
    const int8_t* const* const table = row.table + x * row.step;
    const int8_t* packed = row.packed;
    for (size_t channel = 0; channel < whole; channel += kQDepthwiseBlock, packed += bytes) {
      Sums sums = begin(packed);
      add_taps<kTaps>(row, table, WholeBlock(), channel, packed + 64, sums);
      finish(x, channel, kQDepthwiseBlock, sums, packed + scales);
    }
    if (rest == 0) continue;
    Sums sums = begin(packed);
    if (rest == kQDepthwiseBlock / 2) {
      add_taps<kTaps>(row, table, HalfBlock(), whole, packed + 64, sums);
    } else if (whole != 0) {
      add_taps<0>(row, table, last, whole, packed + 64, sums);
    } else {
      add_taps<0>(row, table, OnlyBlock{rest}, whole, packed + 64, sums);
    }
    finish(x, whole, rest, sums, packed + scales);
  }
}

struct FirstSums {
  ET_AVX2_INLINE Sums operator()(const int8_t* packed) const {
    return {ints_at(packed), ints_at(packed + 32)};
  }
};

/// Minus the sums of weights times the zero point.
struct FirstDynamicSums {
  __m256i zero_point;
  ET_AVX2_INLINE Sums operator()(const int8_t* packed) const {
    return {_mm256_mullo_epi32(ints_at(packed), zero_point),
            _mm256_mullo_epi32(ints_at(packed + 32), zero_point)};
  }
};

struct StoreBytes {
  int8_t* out;
  size_t stride;
  const Requantization& to;
  __m128i least;

  ET_AVX2_INLINE void operator()(size_t x, size_t channel, size_t count, const Sums& sums,
                                 const int8_t* scales) const {
    const ToWords words(to, floats_at(scales), floats_at(scales + 32));
    const __m256i ordered = words(sums.low, sums.high);
    const __m128i bytes = _mm_max_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)),
        least);
    int8_t* const at = out + x * stride + channel;
    if (count == kQDepthwiseBlock) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at), bytes);
    } else if (count == kQDepthwiseBlock / 2) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(at), bytes);
    } else {
      std::memcpy(at, &bytes, count);
    }
  }
};

struct StoreFloats {
  float* out;
  size_t stride;
  ToFloats to_float;
  __m256 row_scale;

  ET_AVX2_INLINE void operator()(size_t x, size_t channel, size_t count, const Sums& sums,
                                 const int8_t* scales) const {
    const __m256 low = to_float(sums.low, row_scale, floats_at(scales), floats_at(scales + 64));
    const __m256 high =
        to_float(sums.high, row_scale, floats_at(scales + 32), floats_at(scales + 96));
    const __m256 results[] = {_mm256_permute2f128_ps(low, high, 0x20),
                              _mm256_permute2f128_ps(low, high, 0x31)};
    std::memcpy(out + x * stride + channel, results, count * sizeof(float));
  }
};

template <size_t kTaps>
ET_AVX2 void bytes_of_taps(const QDepthwiseRow& row, int8_t* out, size_t stride,
                           const Requantization& given) {
  const Requantization to = given;
  for_each_block<kTaps>(row, FirstSums(),
                        StoreBytes{out, stride, to, _mm_set1_epi8(int8_t(to.out_min))});
}

ET_AVX2 void to_bytes(const QDepthwiseRow& row, int8_t* out, size_t stride,
                      const Requantization& to) {
  if (row.taps() == 9) {
    bytes_of_taps<9>(row, out, stride, to);
  } else {
    bytes_of_taps<0>(row, out, stride, to);
  }
}

ET_AVX2 void to_floats(const QDepthwiseRow& row, float* out, size_t stride, const QDynamic& how) {
  for_each_block<0>(row, FirstDynamicSums{_mm256_set1_epi32(how.row(0).zero_point)},
                    StoreFloats{out, stride, ToFloats(how), _mm256_set1_ps(how.row(0).scale)});
}

}  // namespace

const QDepthwiseKernel& qdepthwise_avx2() {
  static constexpr QDepthwiseKernel kKernel = {InstructionSet::Avx2, "qdepthwise_avx2",
                                               kQDepthwisePairs, to_bytes, to_floats};
  return kKernel;
}

}  // namespace executorch::kernels::engine
#endif
