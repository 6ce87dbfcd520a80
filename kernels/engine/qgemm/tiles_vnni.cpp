// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 8 rows and panels of 32 columns for AVX-512 with VNNI, whose products of bytes
// take one operand without a sign: the rows are offset by 128 once for all columns, and depth is
// filled up to a multiple of 4.
#include <executorch/kernels/engine/qgemm/tiles.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define INLINE VNNI inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 8, kPanel = 32, kHalf = 16, kLine = 64;
constexpr int32_t kOffset = 128;
static_assert(kReadBeyond + 1 == kHalf, "parts are read in vectors of 16 bytes");
/// Bytes of a row that are offset at once: 3 x 3 points of 512 channels fit.
constexpr size_t kMaxMoved = 4608, kRowBytes = kMaxMoved + kLine;

/// Rows, or pieces of them, with 128 added; each part is padded to a multiple of four bytes.
struct Moved {
  alignas(kLine) uint8_t rows[kRows * kRowBytes];
  size_t length = 0;  ///< of all parts together if they fit, else 0
};

/// The position from which the next piece is converted.
struct Place {
  size_t part = 0, d = 0;
};

constexpr size_t fours(size_t length) { return round_up(length, 4); }

/// Later writes overwrite the bytes after `count`, or weights of 0 multiply them.
INLINE void move_bytes(const int8_t* from, size_t count, uint8_t* to) {
  const __m512i sign = _mm512_set1_epi8(char(0x80));
  size_t d = 0;
  for (; d + kLine <= count; d += kLine) {
    _mm512_storeu_si512(to + d, _mm512_xor_si512(_mm512_loadu_si512(from + d), sign));
  }
  if (count - d > kHalf) {
    const __mmask64 valid = (uint64_t{1} << (count - d)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(valid, from + d);
    _mm512_storeu_si512(to + d, _mm512_xor_si512(bytes, sign));
  } else if (d < count) {
    const auto valid = __mmask16((1u << (count - d)) - 1);
    const __m128i bytes = _mm_maskz_loadu_epi8(valid, from + d);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + d),
                     _mm_xor_si128(bytes, _mm512_castsi512_si128(sign)));
  }
}

/// Moves a vector of kBytes.
template <size_t kBytes>
INLINE void move_vector(const int8_t* from, uint8_t* to) {
  const __m512i sign = _mm512_set1_epi8(char(0x80));
  if constexpr (kBytes == kLine) {
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), sign));
  } else {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_xor_si128(bytes, _mm512_castsi512_si128(sign)));
  }
}

/// Offsets all parts by 128 in vectors of kBytes. The last vector of a part reads beyond it or,
/// where that is not allowed, overlaps the one before. Returns the number of bytes.
template <size_t kBytes>
VNNI __attribute__((noinline)) size_t move_vectors(const QLeftRows& left, Moved& to) {
  const size_t depth = left.depth, padded = fours(depth);
  const bool reads_beyond = left.may_read_beyond && kBytes == kHalf;
  const size_t last = reads_beyond ? (depth - 1) / kBytes * kBytes : depth - kBytes;
  for (size_t r = 0; r < left.count; ++r) {
    uint8_t* part_to = to.rows + r * kRowBytes;
    const int8_t* const* place = left.table == nullptr ? nullptr : left.table + r;
    for (size_t part = 0; part < left.parts; ++part, part_to += padded) {
      const int8_t* from = left.first + r * left.stride;
      if (place != nullptr) {
        from = *place == left.zero ? left.zero_data : moved(*place, left.offset);
        place += left.table_rows;
      }
      for (size_t d = 0; d < last; d += kBytes) move_vector<kBytes>(from + d, part_to + d);
      move_vector<kBytes>(from + last, part_to + last);
    }
  }
  return left.parts * padded;
}

/// Offsets as many parts, or as much of one part, as there is room for; returns the number of
/// bytes.
VNNI __attribute__((noinline)) size_t move_next(const QLeftRows& left, Place& place, Moved& to) {
  size_t filled = 0;
  while (place.part < left.parts && filled < kMaxMoved) {
    const size_t taken = std::min(left.depth - place.d, kMaxMoved - filled);
    for (size_t r = 0; r < left.count; ++r) {
      move_bytes(left.row(place.part, r) + place.d, taken, to.rows + r * kRowBytes + filled);
    }
    filled += fours(taken);
    place.d += taken;
    if (place.d == left.depth) {
      place.d = 0;
      ++place.part;
    }
  }
  return filled;
}

/// Sums of a panel. With few rows, each sum is divided into several chains, because one chain would
/// wait for its own results.
struct Sums {
  __m512i of[4][kRows][2];
};

template <size_t kTileRows, size_t kHalves>
INLINE void multiply(Sums& sums, size_t chain, const uint8_t* a, const int8_t* w) {
  const __m512i w0 = _mm512_loadu_si512(w);
  const __m512i w1 = kHalves == 2 ? _mm512_loadu_si512(w + kLine) : w0;
#pragma GCC unroll 8
  for (size_t r = 0; r < kTileRows; ++r) {
    int32_t four = 0;
    std::memcpy(&four, a + r * kRowBytes, sizeof(four));
    const __m512i element = _mm512_set1_epi32(four);
    __m512i* const sum = sums.of[chain][r];
    sum[0] = _mm512_dpbusd_epi32(sum[0], element, w0);
    if (kHalves == 2) sum[1] = _mm512_dpbusd_epi32(sum[1], element, w1);
  }
}

/// Adds the products with all of the rows; returns the end of the weights.
template <size_t kTileRows, size_t kHalves, size_t kChains>
INLINE const int8_t* add_products(Sums& sums, const QLeftRows& left, Moved& as, const int8_t* w) {
  Place place;
  bool has_more = true;
  while (has_more) {
    size_t left_bytes = as.length;
    has_more = false;
    if (left_bytes == 0) {
      const bool fits = left.parts * fours(left.depth) <= kMaxMoved;
      if (fits && left.depth >= kLine) {
        left_bytes = move_vectors<kLine>(left, as);
      } else if (fits && (left.depth >= kHalf || (left.may_read_beyond && left.depth > 0))) {
        left_bytes = move_vectors<kHalf>(left, as);
      } else {
        left_bytes = move_next(left, place, as);
        has_more = place.part < left.parts;
      }
      if (fits) as.length = left_bytes;
    }
    const uint8_t* from = as.rows;
    for (; left_bytes >= 16; left_bytes -= 16) {
#pragma GCC unroll 4
      for (size_t step = 0; step < 4; ++step) {
        multiply<kTileRows, kHalves>(sums, step % kChains, from + 4 * step, w + 4 * step * kPanel);
      }
      from += 16;
      w += 16 * kPanel;
    }
    for (; left_bytes > 0; left_bytes -= 4) {
      multiply<kTileRows, kHalves>(sums, 0, from, w);
      from += 4;
      w += 4 * kPanel;
    }
  }
#pragma GCC unroll 4
  for (size_t chain = 1; chain < kChains; ++chain) {
#pragma GCC unroll 8
    for (size_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (size_t half = 0; half < kHalves; ++half) {
        sums.of[0][r][half] = _mm512_add_epi32(sums.of[0][r][half], sums.of[chain][r][half]);
      }
    }
  }
  return w;
}

template <size_t kTileRows, size_t kHalves, size_t kChains>
INLINE void clear(Sums& sums) {
#pragma GCC unroll 4
  for (size_t chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 8
    for (size_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (size_t half = 0; half < kHalves; ++half)
        sums.of[chain][r][half] = _mm512_setzero_si512();
    }
  }
}

INLINE __mmask32 mask_of(size_t columns) {
  return columns < kPanel ? __mmask32((uint32_t{1} << columns) - 1) : __mmask32(UINT32_MAX);
}

/// A panel whose results are floats; returns the next one.
template <size_t kTileRows, size_t kHalves, size_t kChains>
INLINE const int8_t* panel_of(const QLeftRows& left, Moved& as, const int8_t* w, size_t columns,
                              float* out, size_t out_stride, const QDynamic& how) {
  Sums sums;
  clear<kTileRows, kHalves, kChains>(sums);
#pragma GCC unroll 8
  for (size_t r = 0; r < kTileRows; ++r) {
    const size_t row = r < left.count ? r : left.count - 1;
    const __m512i zero = _mm512_set1_epi32(how.row(row).zero_point + kOffset);
#pragma GCC unroll 2
    for (size_t half = 0; half < kHalves; ++half) {
      sums.of[0][r][half] = _mm512_mullo_epi32(_mm512_loadu_si512(w + half * kLine), zero);
    }
  }
  w = add_products<kTileRows, kHalves, kChains>(sums, left, as, w + 4 * kPanel);
  const __m512 least = _mm512_set1_ps(how.clamp_min), most = _mm512_set1_ps(how.clamp_max);
  const __mmask32 valid = mask_of(columns);
#pragma GCC unroll 8
  for (size_t r = 0; r < kTileRows; ++r) {
    if (r >= left.count) break;
    const __m512 scale = _mm512_set1_ps(how.row(r).scale);
#pragma GCC unroll 2
    for (size_t half = 0; half < kHalves; ++half) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.of[0][r][half]), scale);
      const __m512 y = _mm512_fmadd_ps(scaled, _mm512_loadu_ps(w + half * kLine),
                                       _mm512_loadu_ps(w + 4 * kPanel + half * kLine));
      // The instructions return their second operand where either is NaN.
      _mm512_mask_storeu_ps(out + r * out_stride + half * kHalf, __mmask16(valid >> (half * kHalf)),
                            _mm512_min_ps(most, _mm512_max_ps(least, y)));
    }
  }
  return w + 8 * kPanel;
}

/// Stores the first `rows` rows of `bytes`, which has four rows of 16 bytes or two of 32.
template <size_t kHalves>
INLINE void store_rows(__m512i bytes, int8_t* out, size_t out_stride, size_t rows, size_t columns) {
  if constexpr (kHalves == 2) {
    const __m256i row[] = {_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1)};
#pragma GCC unroll 2
    for (size_t r = 0; r < 2; ++r) {
      if (r < rows) _mm256_mask_storeu_epi8(out + r * out_stride, mask_of(columns), row[r]);
    }
  } else {
    const __m128i row[] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
                           _mm512_extracti32x4_epi32(bytes, 2),
                           _mm512_extracti32x4_epi32(bytes, 3)};
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; ++r) {
      const auto valid = __mmask16(mask_of(columns));
      if (r < rows) _mm_mask_storeu_epi8(out + r * out_stride, valid, row[r]);
    }
  }
}

/// A panel whose results are bytes.
template <size_t kTileRows, size_t kHalves, size_t kChains>
INLINE const int8_t* panel_of(const QLeftRows& left, Moved& as, const int8_t* w, size_t columns,
                              int8_t* out, size_t out_stride, const Requantization& to) {
  Sums sums;
  clear<kTileRows, kHalves, kChains>(sums);
#pragma GCC unroll 8
  for (size_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (size_t half = 0; half < kHalves; ++half) {
      sums.of[0][r][half] = _mm512_loadu_si512(w + half * kLine);
    }
  }
  w = add_products<kTileRows, kHalves, kChains>(sums, left, as, w + 4 * kPanel);
  const __m512 most = _mm512_set1_ps(float(to.out_max - to.zero_point));
  const __m512i zeros = _mm512_set1_epi16(int16_t(to.zero_point));
  const __m512i least = _mm512_set1_epi8(char(to.out_min));
  // Packing takes four results of each vector in turns.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512 scales[] = {_mm512_loadu_ps(w), _mm512_loadu_ps(w + (kHalves - 1) * kLine)};
  constexpr size_t kVectors = kTileRows * kHalves;
#pragma GCC unroll 4
  for (size_t first = 0; first < kVectors; first += 4) {
    if (first / kHalves >= left.count) break;
    __m512i rounded[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const size_t vector = std::min(first + i, kVectors - 1), half = vector % kHalves;
      const __m512i sum = sums.of[0][vector / kHalves][half];
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scales[half]);
      rounded[i] = _mm512_cvtps_epi32(_mm512_min_ps(scaled, most));
    }
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zeros);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zeros);
    const __m512i bytes = _mm512_max_epi8(_mm512_packs_epi16(low, high), least);
    store_rows<kHalves>(_mm512_permutexvar_epi32(order, bytes), out + first / kHalves * out_stride,
                        out_stride, left.count - first / kHalves, columns);
  }
  return w + 8 * kPanel;
}

/// All columns of kTileRows rows; the first left.count rows are valid.
template <size_t kTileRows, size_t kChains, class Out, class How>
VNNI void all_panels(const QLeftRows& left, const int8_t* w, size_t columns, Out* out,
                     size_t out_stride, const How& how) {
  Moved as;
  for (size_t first = 0; first < columns; first += kPanel) {
    const size_t valid = columns - first;
    w = valid > kHalf
            ? panel_of<kTileRows, 2, kChains>(left, as, w, valid, out + first, out_stride, how)
            : panel_of<kTileRows, 1, kChains>(left, as, w, valid, out + first, out_stride, how);
  }
}

template <class Out, class How>
void tile(const QLeftRows& left, const int8_t* w, size_t columns, Out* out, size_t out_stride,
          const How& how) {
  switch (left.count) {
    case 1:
      return all_panels<1, 4>(left, w, columns, out, out_stride, how);
    case 2:
      return all_panels<2, 2>(left, w, columns, out, out_stride, how);
    case 3:
    case 4:
      return all_panels<4, 2>(left, w, columns, out, out_stride, how);
    case 5:
    case 6:
      return all_panels<6, 1>(left, w, columns, out, out_stride, how);
    default:
      return all_panels<8, 1>(left, w, columns, out, out_stride, how);
  }
}

}  // namespace

const QGemmTiles& qgemm_tiles_vnni() {
  static constexpr QGemmTiles kTiles = {InstructionSet::Avx512Vnni,
                                        "qgemm_tiles_vnni",
                                        kRows,
                                        kPanel,
                                        4,
                                        kOffset,
                                        size_t{480} << 10,
                                        tile<int8_t, Requantization>,
                                        tile<float, QDynamic>};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
