// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 6 rows and panels of 16 columns for AVX2: rows are extended to 16 bits once for
// all columns, two steps along depth are one multiplication, and no sum is added up across a
// register. The loops are assembly: 12 sums, two vectors of weights, one element and a product take
// all 16 registers.
#include <executorch/kernels/engine/qgemm/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX2_INLINE AVX2 inline __attribute__((always_inline))

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 6, kPanel = 16;
/// Elements of a row that are extended at once: 24 KiB for all rows, which fit the first-level
/// cache with a panel of weights. The rows are 64 bytes off a multiple of 4 KiB, whose loads and
/// stores would wait for each other.
constexpr size_t kMaxExtended = 2048, kRowBytes = 4160;
static_assert(kRowBytes == 2 * kMaxExtended + 64, "the assembly has the number, too");

/// Rows, or pieces of them, extended to 16 bits; each part has an even number of elements.
struct Extended {
  alignas(64) int8_t rows[kRows * kRowBytes];
  size_t length = 0;  ///< of all parts together if they fit, else 0
};

/// The position from which the next piece is extended.
struct Place {
  size_t part = 0, d = 0;
};

AVX2 void extend(const int8_t* from, size_t count, int16_t* to) {
  size_t d = 0;
  for (; d + 16 <= count; d += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + d));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + d), _mm256_cvtepi8_epi16(bytes));
  }
  if (d + 8 <= count) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + d));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + d), _mm_cvtepi8_epi16(bytes));
    d += 8;
  }
  for (; d < count; ++d) to[d] = from[d];
  if (count % 2 != 0) to[count] = 0;
}

/// Extends as many parts, or as much of one part, as there is room for; returns the number of
/// elements.
size_t extend_next(const QLeftRows& left, Place& place, Extended& to) {
  size_t filled = 0;
  while (place.part < left.parts && filled < kMaxExtended) {
    const size_t taken = std::min(left.depth - place.d, kMaxExtended - filled);
    for (size_t r = 0; r < left.count; ++r) {
      auto* const row = reinterpret_cast<int16_t*>(to.rows + r * kRowBytes);
      extend(left.row(place.part, r) + place.d, taken, row + filled);
    }
    filled += taken + taken % 2;
    place.d += taken;
    if (place.d == left.depth) {
      place.d = 0;
      ++place.part;
    }
  }
  return filled;
}

// clang-format off
// Two elements of row r, at `at` bytes, times 16 columns: sums in the registers `low`, `high`.
#define TIMES_ROW(r, at, low, high)                      \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"    \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n"                 \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n"                 \
  "vpaddd %%ymm15, %[s" #low "], %[s" #low "]\n"         \
  "vpaddd %%ymm14, %[s" #high "], %[s" #high "]\n"
#define LOAD_WEIGHTS(w0, w1)               \
  "vpmovsxbw " #w0 "(%[w]), %%ymm12\n"     \
  "vpmovsxbw " #w1 "(%[w]), %%ymm13\n"
// Two steps along depth. `at`: bytes of the rows; `w0`, `w1`: bytes of the weights.
#define STEP_1(at, w0, w1) LOAD_WEIGHTS(w0, w1) TIMES_ROW(0, at, 0, 1)
#define STEP_3(at, w0, w1) STEP_1(at, w0, w1) TIMES_ROW(1, at, 2, 3) TIMES_ROW(2, at, 4, 5)
#define STEP_6(at, w0, w1) \
  STEP_3(at, w0, w1) TIMES_ROW(3, at, 6, 7) TIMES_ROW(4, at, 8, 9) TIMES_ROW(5, at, 10, 11)
#define ALONG_DEPTH(STEP) \
  "sub $4, %[n]\n"        \
  "jl 2f\n"               \
  ".p2align 5\n"          \
  "1:\n"                  \
  STEP(0, 0, 16)          \
  STEP(4, 32, 48)         \
  STEP(8, 64, 80)         \
  STEP(12, 96, 112)       \
  "add $128, %[w]\n"      \
  "add $16, %[a]\n"       \
  "sub $4, %[n]\n"        \
  "jge 1b\n"              \
  "2:\n"                  \
  "add $4, %[n]\n"        \
  "jz 4f\n"               \
  "3:\n"                  \
  STEP(0, 0, 16)          \
  "add $32, %[w]\n"       \
  "add $4, %[a]\n"        \
  "dec %[n]\n"            \
  "jnz 3b\n"              \
  "4:\n"
#define ADD_PRODUCTS(STEP, ...)                                       \
  __asm__ volatile(ALONG_DEPTH(STEP)                                  \
                   : [w] "+r"(w), [a] "+r"(a), [n] "+r"(n), __VA_ARGS__ \
                   :                                                  \
                   : "memory", "cc", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

/// Two vectors for each row. The assembly takes them in registers, so that a tile's sums are in
/// memory neither before nor after.
using Sums = __m256i[2 * kRows];

#define SUMS_2(s) [s0] "+x"(s[0]), [s1] "+x"(s[1])
#define SUMS_6(s) SUMS_2(s), [s2] "+x"(s[2]), [s3] "+x"(s[3]), [s4] "+x"(s[4]), [s5] "+x"(s[5])
#define SUMS_12(s)                                                               \
  SUMS_6(s), [s6] "+x"(s[6]), [s7] "+x"(s[7]), [s8] "+x"(s[8]), [s9] "+x"(s[9]), \
      [s10] "+x"(s[10]), [s11] "+x"(s[11])

/// Adds to the sums of kUsed rows, of which all may be read; returns what follows the weights.
template <size_t kUsed>
AVX2_INLINE const int8_t* add_products(const int8_t* a, size_t length, const int8_t* w,
                                       Sums& sums) {
  auto n = intptr_t(length / 2);
  if constexpr (kUsed == 1) {
    ADD_PRODUCTS(STEP_1, SUMS_2(sums));
  } else if constexpr (kUsed == 3) {
    ADD_PRODUCTS(STEP_3, SUMS_6(sums));
  } else {
    ADD_PRODUCTS(STEP_6, SUMS_12(sums));
  }
  return w;
}

/// Same as above, for all of the rows.
template <size_t kUsed>
AVX2_INLINE const int8_t* add_panel(const QLeftRows& left, Extended& as, const int8_t* w,
                                    Sums& sums) {
  if (as.length != 0) return add_products<kUsed>(as.rows, as.length, w, sums);
  Place place;
  while (place.part < left.parts) {
    const size_t length = extend_next(left, place, as);
    w = add_products<kUsed>(as.rows, length, w, sums);
    if (place.part == left.parts && left.parts * round_up(left.depth, 2) <= kMaxExtended) {
      as.length = length;
    }
  }
  return w;
}

/// A row of results: all of a panel, or as many as are valid.
template <class T>
void put(const void* results, size_t columns, T* to) {
  if (columns >= kPanel) {
    std::memcpy(to, results, kPanel * sizeof(T));
  } else {
    std::memcpy(to, results, columns * sizeof(T));
  }
}

AVX2 __m256i ints_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + index * sizeof(int32_t)));
}

AVX2 __m256 floats_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(bytes) + index);
}

template <size_t kUsed>
AVX2 void panels_to_floats(const QLeftRows& left, const int8_t* w, size_t columns, float* out,
                           size_t out_stride, const QDynamic& how) {
  Extended as;
  const __m256 least = _mm256_set1_ps(how.clamp_min), most = _mm256_set1_ps(how.clamp_max);
  for (size_t first = 0; first < columns; first += kPanel) {
    Sums sums;
    const __m256i begin[] = {ints_at(w, 0), ints_at(w, 8)};
    for (size_t r = 0; r < kUsed; ++r) {
      const __m256i zero = _mm256_set1_epi32(how.zero_points[r < left.count ? r * how.step : 0]);
      sums[2 * r] = _mm256_mullo_epi32(begin[0], zero);
      sums[2 * r + 1] = _mm256_mullo_epi32(begin[1], zero);
    }
    w = add_panel<kUsed>(left, as, w + 4 * kPanel, sums);
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      if (r >= left.count) break;
      const __m256 scale = _mm256_set1_ps(how.row_scales[r * how.step]);
      __m256 results[2];
      for (size_t half = 0; half < 2; ++half) {
        const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[2 * r + half]), scale);
        const __m256 y =
            _mm256_fmadd_ps(scaled, floats_at(w, 8 * half), floats_at(w, kPanel + 8 * half));
        // The instructions return their second operand where either is NaN.
        results[half] = _mm256_min_ps(most, _mm256_max_ps(least, y));
      }
      put(results, columns - first, out + r * out_stride + first);
    }
    w += 2 * kPanel * sizeof(float);
  }
}

/// Quantizes 16 sums to words in the order of the pack instruction: 0-3, 8-11, 4-7, 12-15.
struct ToWords {
  __m256 scales[2], most;
  __m256i zeros;
  AVX2_INLINE __m256i operator()(__m256i low, __m256i high) const {
    const __m256 a = _mm256_mul_ps(_mm256_cvtepi32_ps(low), scales[0]);
    const __m256 b = _mm256_mul_ps(_mm256_cvtepi32_ps(high), scales[1]);
    return _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(a, most)),
                                                _mm256_cvtps_epi32(_mm256_min_ps(b, most))),
                             zeros);
  }
};

template <size_t kUsed>
AVX2 void panels_to_bytes(const QLeftRows& left, const int8_t* w, size_t columns, int8_t* out,
                          size_t out_stride, const Requantization& to) {
  Extended as;
  const __m256i least = _mm256_set1_epi8(int8_t(to.out_min));
  for (size_t first = 0; first < columns; first += kPanel) {
    Sums sums;
    const __m256i begin[] = {ints_at(w, 0), ints_at(w, 8)};
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      sums[2 * r] = begin[0];
      sums[2 * r + 1] = begin[1];
    }
    w = add_panel<kUsed>(left, as, w + 4 * kPanel, sums);
    const ToWords words = {{floats_at(w, 0), floats_at(w, 8)},
                           _mm256_set1_ps(float(to.out_max - to.zero_point)),
                           _mm256_set1_epi16(int16_t(to.zero_point))};
    __m128i results[kRows];
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; r += 2) {
      const size_t next = r + 1 < kUsed ? r + 1 : r;
      const __m256i bytes =
          _mm256_max_epi8(_mm256_packs_epi16(words(sums[2 * r], sums[2 * r + 1]),
                                             words(sums[2 * next], sums[2 * next + 1])),
                          least);
      const __m256i ordered =
          _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
      results[r] = _mm256_castsi256_si128(ordered);
      if (next != r) results[next] = _mm256_extracti128_si256(ordered, 1);
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      if (r < left.count) put(results + r, columns - first, out + r * out_stride + first);
    }
    w += 2 * kPanel * sizeof(float);
  }
}

AVX2 void to_floats(const QLeftRows& left, const int8_t* w, size_t columns, float* out,
                    size_t out_stride, const QDynamic& how) {
  using Panels = decltype(&to_floats);
  const Panels by_count[] = {panels_to_floats<1>, panels_to_floats<3>, panels_to_floats<kRows>};
  by_count[(left.count > 1) + (left.count > 3)](left, w, columns, out, out_stride, how);
}
AVX2 void to_bytes(const QLeftRows& left, const int8_t* w, size_t columns, int8_t* out,
                   size_t out_stride, const Requantization& to) {
  using Panels = decltype(&to_bytes);
  const Panels by_count[] = {panels_to_bytes<1>, panels_to_bytes<3>, panels_to_bytes<kRows>};
  by_count[(left.count > 1) + (left.count > 3)](left, w, columns, out, out_stride, to);
}

}  // namespace

const QGemmTiles& qgemm_tiles_avx2() {
  static constexpr QGemmTiles kTiles = {
      InstructionSet::Avx2, "qgemm_tiles_avx2", kRows, kPanel, 2, 0, to_bytes, to_floats};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
