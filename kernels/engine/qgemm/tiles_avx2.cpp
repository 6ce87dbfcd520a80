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
  "vpaddd %%ymm15, %%ymm" #low ", %%ymm" #low "\n"       \
  "vpaddd %%ymm14, %%ymm" #high ", %%ymm" #high "\n"
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
#define LOAD_SUM(i, at) "vmovdqa " #at "(%[sums]), %%ymm" #i "\n"
#define STORE_SUM(i, at) "vmovdqa %%ymm" #i ", " #at "(%[sums])\n"
#define SUMS(MOVE)                                                             \
  MOVE(0, 0) MOVE(1, 32) MOVE(2, 64) MOVE(3, 96) MOVE(4, 128) MOVE(5, 160)     \
  MOVE(6, 192) MOVE(7, 224) MOVE(8, 256) MOVE(9, 288) MOVE(10, 320) MOVE(11, 352)
#define REGISTERS                                                                          \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define ADD_PRODUCTS(STEP)                                                              \
  __asm__ volatile(SUMS(LOAD_SUM) ALONG_DEPTH(STEP) SUMS(STORE_SUM) "vzeroupper\n"      \
                   : [w] "+r"(w), [a] "+r"(a), [n] "+r"(n)                              \
                   : [sums] "r"(sums)                                                   \
                   : "memory", "cc", REGISTERS)
// clang-format on

/// Adds to the sums of `rows` rows; returns what follows the weights.
const int8_t* add_products(size_t rows, const int8_t* a, size_t length, const int8_t* w,
                           int32_t* sums) {
  auto n = intptr_t(length / 2);
  if (rows == 1) {
    ADD_PRODUCTS(STEP_1);
  } else if (rows <= 3) {
    ADD_PRODUCTS(STEP_3);
  } else {
    ADD_PRODUCTS(STEP_6);
  }
  return w;
}

/// Same as above, for all rows.
const int8_t* add_panel(const QLeftRows& left, Extended& as, const int8_t* w, int32_t* sums) {
  if (as.length != 0) return add_products(left.count, as.rows, as.length, w, sums);
  Place place;
  while (place.part < left.parts) {
    const size_t length = extend_next(left, place, as);
    w = add_products(left.count, as.rows, length, w, sums);
    if (place.part == left.parts && left.parts * round_up(left.depth, 2) <= kMaxExtended) {
      as.length = length;
    }
  }
  return w;
}

/// A row of results: all of a panel, or as many as are valid.
template <class T>
void put(const T* results, size_t columns, T* to) {
  if (columns >= kPanel) {
    std::memcpy(to, results, kPanel * sizeof(T));
  } else {
    std::memcpy(to, results, columns * sizeof(T));
  }
}

AVX2 __m256i sums_at(const int32_t* sums, size_t row, size_t half) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + row * kPanel + half));
}

AVX2 __m256 floats_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(bytes) + index);
}

AVX2 void to_floats(const QLeftRows& left, const int8_t* w, size_t columns, float* out,
                    size_t out_stride, const QDynamic& how) {
  alignas(32) int32_t sums[kRows * kPanel] = {};
  Extended as;
  const __m256 least = _mm256_set1_ps(how.clamp_min), most = _mm256_set1_ps(how.clamp_max);
  for (size_t first = 0; first < columns; first += kPanel) {
    for (size_t r = 0; r < left.count; ++r) {
      const __m256i zero = _mm256_set1_epi32(how.zero_points[r * how.step]);
      for (size_t half = 0; half < kPanel; half += 8) {
        const __m256i begin = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 4 * half));
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums + r * kPanel + half),
                           _mm256_mullo_epi32(begin, zero));
      }
    }
    w = add_panel(left, as, w + 4 * kPanel, sums);
    for (size_t r = 0; r < left.count; ++r) {
      const __m256 scale = _mm256_set1_ps(how.row_scales[r * how.step]);
      float results[kPanel];
      for (size_t half = 0; half < kPanel; half += 8) {
        const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums_at(sums, r, half)), scale);
        const __m256 y = _mm256_fmadd_ps(scaled, floats_at(w, half), floats_at(w, kPanel + half));
        // The instructions return their second operand where either is NaN.
        _mm256_storeu_ps(results + half, _mm256_min_ps(most, _mm256_max_ps(least, y)));
      }
      put(results, columns - first, out + r * out_stride + first);
    }
    w += 2 * kPanel * sizeof(float);
  }
}

AVX2 void to_bytes(const QLeftRows& left, const int8_t* w, size_t columns, int8_t* out,
                   size_t out_stride, const Requantization& to) {
  alignas(32) int32_t sums[kRows * kPanel] = {};
  Extended as;
  const __m256 most = _mm256_set1_ps(float(to.out_max - to.zero_point));
  const __m256i zeros = _mm256_set1_epi16(int16_t(to.zero_point));
  const __m128i least = _mm_set1_epi8(int8_t(to.out_min));
  for (size_t first = 0; first < columns; first += kPanel) {
    for (size_t r = 0; r < left.count; ++r) {
      std::memcpy(sums + r * kPanel, w, kPanel * sizeof(int32_t));
    }
    w = add_panel(left, as, w + 4 * kPanel, sums);
    for (size_t r = 0; r < left.count; ++r) {
      __m256i rounded[2];
      for (size_t half = 0; half < 2; ++half) {
        const __m256 scaled =
            _mm256_mul_ps(_mm256_cvtepi32_ps(sums_at(sums, r, 8 * half)), floats_at(w, 8 * half));
        rounded[half] = _mm256_cvtps_epi32(_mm256_min_ps(scaled, most));
      }
      const __m256i words = _mm256_adds_epi16(
          _mm256_permute4x64_epi64(_mm256_packs_epi32(rounded[0], rounded[1]), 0xD8), zeros);
      const __m128i bytes =
          _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      int8_t results[kPanel];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(results), _mm_max_epi8(bytes, least));
      put(results, columns - first, out + r * out_stride + first);
    }
    w += 2 * kPanel * sizeof(float);
  }
}

}  // namespace

const QGemmTiles& qgemm_tiles_avx2() {
  static constexpr QGemmTiles kTiles = {
      InstructionSet::Avx2, "qgemm_tiles_avx2", kRows, kPanel, 2, 0, to_bytes, to_floats};
  return kTiles;
}

}  // namespace executorch::kernels::engine
#endif
