// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 6 rows and panels of 16 columns for AVX2, and for AVX2 with AVX-VNNI. Rows are
// prepared once for all columns: extended to 16 bits, so that one multiplication is two steps along
// depth, or moved by 128 for AVX-VNNI, whose products of bytes take one operand without a sign, and
// are four steps. Multiplying bytes with AVX2 alone (vpmaddubsw) takes 3/4 of the instructions, but
// its sums of two products exceed 16 bits where two weights add up to more than 128: the largest
// weight of a column is 127, so nearly every column has such a pair. No sum is added up across a
// register. The loops are assembly: for AVX2, 12 sums, two vectors of weights, one element and a
// product take all 16 registers.
#include <executorch/kernels/engine/qgemm/tiles.h>
#include <executorch/kernels/engine/qgemm/words_avx2.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kRows = 6, kPanel = 16;
/// Bytes of each row that are prepared at once: 24 KiB for all rows, which fit the first-level
/// cache with a panel of weights. Rows are 64 bytes off a multiple of 4 KiB: at equal offsets in 4
/// KiB, loads would wait for stores.
constexpr size_t kMaxBytes = 4096, kRowBytes = 4160;
static_assert(kRowBytes == kMaxBytes + 64, "the assembly has the number, too");

/// Rows or pieces of rows. The size of each part is a multiple of four bytes.
struct PreparedRows {
  alignas(64) int8_t bytes[kRows * kRowBytes];
};

/// The position from which the next piece is prepared.
struct Place {
  size_t part = 0, d = 0;
};

ET_AVX2_INLINE __m128i half_vector_at(const int8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Elements extended to 16 bits, and pairs of products, for AVX2.
struct Words {
  static constexpr size_t kInterleave = 2;
  static constexpr int32_t kOffset = 0;

  static constexpr InstructionSet kSet = InstructionSet::Avx2;
  static constexpr const char* kName = "qgemm_tiles_avx2";

  static const QGemmTiles& tiles() { return qgemm_tiles_avx2(); }
  ET_AVX2_INLINE static void prepare(const int8_t* from, size_t count, bool may_read_beyond,
                                     int8_t* row) {
    auto* const to = reinterpret_cast<int16_t*>(row);
    size_t d = 0;
    for (const size_t whole = may_read_beyond ? count + kReadBeyond : count; d + 16 <= whole;
         d += 16) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + d),
                          _mm256_cvtepi8_epi16(half_vector_at(from + d)));
    }
    if (d + 8 <= count) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + d));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + d), _mm_cvtepi8_epi16(bytes));
      d += 8;
    }
    for (; d < count; ++d) to[d] = from[d];
    if (count % 2 != 0) to[count] = 0;
  }
};

/// Elements moved by 128, and groups of four products, for AVX-VNNI.
struct Bytes {
  static constexpr size_t kInterleave = 4;
  static constexpr int32_t kOffset = 128;

  static constexpr InstructionSet kSet = InstructionSet::AvxVnni;
  static constexpr const char* kName = "qgemm_tiles_avxvnni";

  static const QGemmTiles& tiles() { return qgemm_tiles_avxvnni(); }
  ET_AVX2_INLINE static void move_16(const int8_t* from, int8_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_xor_si128(half_vector_at(from), _mm_set1_epi8(char(0x80))));
  }
  /// Without permission to read beyond the elements, the last vector overlaps the one before it.
  /// Weights of 0 multiply the bytes that complete the last group of four.
  ET_AVX2_INLINE static void prepare(const int8_t* from, size_t count, bool may_read_beyond,
                                     int8_t* to) {
    const size_t whole = may_read_beyond ? count + kReadBeyond : count;
    size_t d = 0;
    for (; d + 16 <= whole; d += 16) move_16(from + d, to + d);
    if (d >= count) return;
    if (count >= 16) return move_16(from + count - 16, to + count - 16);
    std::memset(to + count / 4 * 4, 0, 4);
    for (; d < count; ++d) to[d] = int8_t(from[d] ^ 0x80);
  }
};

/// Prepares as many parts, or as much of one part, as there is room for; returns the number of
/// groups of four bytes of a row.
template <class Form>
ET_AVX2 size_t prepare_next(const QLeftRows& left, Place& place, PreparedRows& to) {
  constexpr size_t kBytes = sizeof(int32_t) / Form::kInterleave, kMaxElements = kMaxBytes / kBytes;
  size_t filled = 0;
  while (place.part < left.parts && filled < kMaxElements) {
    const size_t taken = std::min(left.depth - place.d, kMaxElements - filled);
    for (size_t r = 0; r < left.count; ++r) {
      Form::prepare(left.row(place.part, r) + place.d, taken, left.may_read_beyond,
                    to.bytes + r * kRowBytes + filled * kBytes);
    }
    filled += round_up(taken, Form::kInterleave);
    place.d += taken;
    if (place.d == left.depth) {
      place.d = 0;
      ++place.part;
    }
  }
  return filled / Form::kInterleave;
}

// clang-format off
// Elements of row r, at `at` bytes, times 16 columns: sums in the registers `low`, `high`.
#define TIMES_ROW(r, at, low, high)                      \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"    \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n"                 \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n"                 \
  "vpaddd %%ymm15, %[s" #low "], %[s" #low "]\n"         \
  "vpaddd %%ymm14, %[s" #high "], %[s" #high "]\n"
#define TIMES_ROW_VNNI(r, at, low, high)                       \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"          \
  "%{vex%} vpdpbusd %%ymm12, %%ymm14, %[s" #low "]\n"          \
  "%{vex%} vpdpbusd %%ymm13, %%ymm14, %[s" #high "]\n"
// The same for the first eight columns.
#define TIMES_ROW_LOW(r, at, low, high)                  \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"    \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm14\n"                 \
  "vpaddd %%ymm14, %[s" #low "], %[s" #low "]\n"
#define TIMES_ROW_VNNI_LOW(r, at, low, high)                   \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"          \
  "%{vex%} vpdpbusd %%ymm12, %%ymm14, %[s" #low "]\n"
#define ROWS_1(TIMES, at) TIMES(0, at, 0, 1)
#define ROWS_3(TIMES, at) ROWS_1(TIMES, at) TIMES(1, at, 2, 3) TIMES(2, at, 4, 5)
#define ROWS_6(TIMES, at) \
  ROWS_3(TIMES, at) TIMES(3, at, 6, 7) TIMES(4, at, 8, 9) TIMES(5, at, 10, 11)
// A group of four bytes of each row. `at`: its place in the rows; `step`: its number. Its weights
// for eight columns take 16 bytes, or 32 for AVX-VNNI.
#define LOAD_LOW(step) "vpmovsxbw 32*" #step "(%[w]), %%ymm12\n"
#define LOAD(step) LOAD_LOW(step) "vpmovsxbw 32*" #step "+16(%[w]), %%ymm13\n"
#define LOAD_VNNI_LOW(step) "vmovdqu 64*" #step "(%[w]), %%ymm12\n"
#define LOAD_VNNI(step) LOAD_VNNI_LOW(step) "vmovdqu 64*" #step "+32(%[w]), %%ymm13\n"
#define STEP(rows, form, at, step) LOAD##form(step) ROWS_##rows(TIMES_ROW##form, at)
#define ALONG_DEPTH(rows, form, bytes) \
  "sub $4, %[n]\n"                     \
  "jl 2f\n"                            \
  ".p2align 5\n"                       \
  "1:\n"                               \
  STEP(rows, form, 0, 0)               \
  STEP(rows, form, 4, 1)               \
  STEP(rows, form, 8, 2)               \
  STEP(rows, form, 12, 3)              \
  "add $4*" #bytes ", %[w]\n"          \
  "add $16, %[a]\n"                    \
  "sub $4, %[n]\n"                     \
  "jge 1b\n"                           \
  "2:\n"                               \
  "add $4, %[n]\n"                     \
  "jz 4f\n"                            \
  "3:\n"                               \
  STEP(rows, form, 0, 0)               \
  "add $" #bytes ", %[w]\n"            \
  "add $4, %[a]\n"                     \
  "dec %[n]\n"                         \
  "jnz 3b\n"                           \
  "4:\n"
#define ADD_PRODUCTS(rows, form, bytes, ...)                           \
  __asm__ volatile(ALONG_DEPTH(rows, form, bytes)                      \
                   : [w] "+r"(w), [a] "+r"(a), [n] "+r"(n), __VA_ARGS__ \
                   :                                                   \
                   : "memory", "cc", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

/// Two vectors for each row. The assembly takes them in registers, so that a tile's sums are in
/// memory neither before nor after.
using Sums = __m256i[2 * kRows];

#define SUM(i) [s##i] "+x"(sums[i])
#define SUMS_1_LOW SUM(0)
#define SUMS_3_LOW SUM(0), SUM(2), SUM(4)
#define SUMS_6_LOW SUMS_3_LOW, SUM(6), SUM(8), SUM(10)
#define SUMS_1 SUM(0), SUM(1)
#define SUMS_3 SUMS_3_LOW, SUM(1), SUM(3), SUM(5)
#define SUMS_6 SUMS_6_LOW, SUM(1), SUM(3), SUM(5), SUM(7), SUM(9), SUM(11)

#define ADD_ROWS(rows)                                      \
  if constexpr (Form::kInterleave == 4) {                   \
    if constexpr (kIsHalf) {                                \
      ADD_PRODUCTS(rows, _VNNI_LOW, 64, SUMS_##rows##_LOW); \
    } else {                                                \
      ADD_PRODUCTS(rows, _VNNI, 64, SUMS_##rows);           \
    }                                                       \
  } else if constexpr (kIsHalf) {                           \
    ADD_PRODUCTS(rows, _LOW, 32, SUMS_##rows##_LOW);        \
  } else {                                                  \
    ADD_PRODUCTS(rows, , 32, SUMS_##rows);                  \
  }

/// Adds the products of kUsed rows, which must all be readable, and a panel's columns or the first
/// half of them. Returns the end of the weights.
template <class Form, size_t kUsed, bool kIsHalf>
ET_AVX2_INLINE const int8_t* add_products(const int8_t* a, size_t groups, const int8_t* w,
                                          Sums& sums) {
  auto n = intptr_t(groups);
  if constexpr (kUsed == 1) {
    ADD_ROWS(1);
  } else if constexpr (kUsed == 3) {
    ADD_ROWS(3);
  } else {
    ADD_ROWS(6);
  }
  return w;
}

template <class Form, size_t kUsed>
ET_AVX2_INLINE const int8_t* add_panel(const PreparedRows& as, size_t groups, size_t columns,
                                       const int8_t* w, Sums& sums) {
  return columns > kPanel / 2 ? add_products<Form, kUsed, false>(as.bytes, groups, w, sums)
                              : add_products<Form, kUsed, true>(as.bytes, groups, w, sums);
}

/// Panels that share a piece of long rows, so that it is prepared once for them all.
constexpr size_t kJoinedPanels = 4;

/// Computes the sums of panels that begin at begin(packed, sums), for rows that are prepared piece
/// by piece, and calls finish(first column, sums, scales) for each.
template <class Form, size_t kUsed, class Begin, class Finish>
ET_AVX2_INLINE void add_long_rows(const QLeftRows& left, PreparedRows& as, const int8_t* packed,
                                  size_t columns, const Begin& begin, const Finish& finish) {
  const size_t bytes = Form::tiles().panel_bytes(left.parts, left.depth);
  for (size_t first = 0; first < columns; first += kJoinedPanels * kPanel) {
    const size_t panels = std::min(kJoinedPanels, divide_up(columns - first, kPanel));
    Sums sums[kJoinedPanels];
    const int8_t* w[kJoinedPanels];
    for (size_t i = 0; i < panels; ++i, packed += bytes) {
      begin(packed, sums[i]);
      w[i] = packed + 4 * kPanel;
    }
    Place place;
    while (place.part < left.parts) {
      const size_t groups = prepare_next<Form>(left, place, as);
      for (size_t i = 0; i < panels; ++i) {
        w[i] = add_panel<Form, kUsed>(as, groups, columns - first - i * kPanel, w[i], sums[i]);
      }
    }
    for (size_t i = 0; i < panels; ++i) finish(first + i * kPanel, sums[i], w[i]);
  }
}

/// Same as above, for rows of any length.
template <class Form, size_t kUsed, class Begin, class Finish>
ET_AVX2_INLINE void add_rows(const QLeftRows& left, const int8_t* packed, size_t columns,
                             const Begin& begin, const Finish& finish) {
  PreparedRows as;
  Place place;
  const size_t groups = prepare_next<Form>(left, place, as);
  if (place.part < left.parts) {
    return add_long_rows<Form, kUsed>(left, as, packed, columns, begin, finish);
  }
  for (size_t first = 0; first < columns; first += kPanel) {
    Sums sums;
    begin(packed, sums);
    packed = add_panel<Form, kUsed>(as, groups, columns - first, packed + 4 * kPanel, sums);
    finish(first, sums, packed);
    packed += 2 * kPanel * sizeof(float);
  }
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

ET_AVX2 __m256i ints_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + index * sizeof(int32_t)));
}

ET_AVX2 __m256 floats_at(const int8_t* bytes, size_t index) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(bytes) + index);
}

/// The first sums of dynamic products: minus the sums of weights, times each row's zero point.
template <class Form, size_t kUsed>
struct DynamicSums {
  const QLeftRows& left;
  const QDynamic& how;

  ET_AVX2_INLINE void operator()(const int8_t* packed, Sums& sums) const {
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      const int32_t zero_point = how.row(r < left.count ? r : 0).zero_point;
      const __m256i zero = _mm256_set1_epi32(zero_point + Form::kOffset);
      sums[2 * r] = _mm256_mullo_epi32(ints_at(packed, 0), zero);
      sums[2 * r + 1] = _mm256_mullo_epi32(ints_at(packed, 8), zero);
    }
  }
};

/// The first sums of static products, the same for all rows.
template <size_t kUsed>
struct StaticSums {
  ET_AVX2_INLINE void operator()(const int8_t* packed, Sums& sums) const {
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      sums[2 * r] = ints_at(packed, 0);
      sums[2 * r + 1] = ints_at(packed, 8);
    }
  }
};

template <size_t kUsed>
struct StoreFloats {
  const QLeftRows& left;
  size_t columns;
  float* out;
  size_t stride;
  const QDynamic& how;
  ToFloats to_float;

  ET_AVX2_INLINE void operator()(size_t first, const Sums& sums, const int8_t* scales) const {
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      if (r >= left.count) break;
      const __m256 row_scale = _mm256_set1_ps(how.row(r).scale);
      __m256 results[2];
      for (size_t half = 0; half < 2; ++half) {
        results[half] = to_float(sums[2 * r + half], row_scale, floats_at(scales, 8 * half),
                                 floats_at(scales, kPanel + 8 * half));
      }
      put(results, columns - first, out + r * stride + first);
    }
  }
};

template <size_t kUsed>
struct StoreBytes {
  const QLeftRows& left;
  size_t columns;
  int8_t* out;
  size_t stride;
  const Requantization& to;

  ET_AVX2_INLINE void operator()(size_t first, const Sums& sums, const int8_t* scales) const {
    const ToWords words(to, floats_at(scales, 0), floats_at(scales, 8));
    const __m256i least = _mm256_set1_epi8(int8_t(to.out_min));
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
      if (r < left.count) put(results + r, columns - first, out + r * stride + first);
    }
  }
};

template <class Form, size_t kUsed>
ET_AVX2 void panels_to_floats(const QLeftRows& left, const int8_t* packed, size_t columns,
                              float* out, size_t stride, const QDynamic& how) {
  add_rows<Form, kUsed>(left, packed, columns, DynamicSums<Form, kUsed>{left, how},
                        StoreFloats<kUsed>{left, columns, out, stride, how, ToFloats(how)});
}

template <class Form, size_t kUsed>
ET_AVX2 void panels_to_bytes(const QLeftRows& left, const int8_t* packed, size_t columns,
                             int8_t* out, size_t stride, const Requantization& to) {
  add_rows<Form, kUsed>(left, packed, columns, StaticSums<kUsed>(),
                        StoreBytes<kUsed>{left, columns, out, stride, to});
}

template <class Form>
ET_AVX2 void to_floats(const QLeftRows& left, const int8_t* w, size_t columns, float* out,
                       size_t out_stride, const QDynamic& how) {
  using Panels = decltype(&to_floats<Form>);
  const Panels by_count[] = {panels_to_floats<Form, 1>, panels_to_floats<Form, 3>,
                             panels_to_floats<Form, kRows>};
  by_count[(left.count > 1) + (left.count > 3)](left, w, columns, out, out_stride, how);
}
template <class Form>
ET_AVX2 void to_bytes(const QLeftRows& left, const int8_t* w, size_t columns, int8_t* out,
                      size_t out_stride, const Requantization& to) {
  using Panels = decltype(&to_bytes<Form>);
  const Panels by_count[] = {panels_to_bytes<Form, 1>, panels_to_bytes<Form, 3>,
                             panels_to_bytes<Form, kRows>};
  by_count[(left.count > 1) + (left.count > 3)](left, w, columns, out, out_stride, to);
}

template <class Form>
constexpr QGemmTiles kTiles = {Form::kSet,       Form::kName,       kRows,
                               kPanel,           Form::kInterleave, Form::kOffset,
                               kItemWeightBytes, to_bytes<Form>,    to_floats<Form>};

}  // namespace

const QGemmTiles& qgemm_tiles_avx2() { return kTiles<Words>; }
const QGemmTiles& qgemm_tiles_avxvnni() { return kTiles<Bytes>; }

}  // namespace executorch::kernels::engine
#endif
