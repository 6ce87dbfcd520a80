// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tiles of up to 6 rows and panels of 16 columns for AVX2, and for AVX2 with AVX-VNNI. Rows are
// prepared once for all columns: extended to 16 bits, so that one multiplication is two steps along
// depth, or offset by 128 for AVX-VNNI, whose products of bytes take one operand without a sign,
// and are four steps. Multiplying bytes without VNNI (vpmaddubsw) takes 3/4 of the instructions,
// but its sums of two products exceed 16 bits where two weights add up to more than 128: the
// largest weight of a column is 127, so nearly every column has such a pair. Sums are never added
// across the lanes of a register.
#include <executorch/kernels/engine/qgemm/store_avx2.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::engine {
namespace {

using namespace qgemm_avx2;  // NOLINT: the vocabulary of tiles

/// The position from which the next piece is prepared.
struct Place {
  size_t part = 0, d = 0;
};

ET_AVX2_INLINE __m128i half_vector_at(const int8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Elements extended to 16 bits, and pairs of products, for AVX2.
struct Words {
  static constexpr PanelForm kForm = PanelForm::BytePairs;
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

/// Elements offset by 128, and groups of four products, for AVX-VNNI.
struct Bytes {
  static constexpr PanelForm kForm = PanelForm::ByteFours;
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

/// Elements that there is room for.
template <class Form>
constexpr size_t kMaxElements = kMaxBytes / sizeof(int32_t) * Form::kInterleave;

/// Prepares whole rows of one part, which fit; returns the number of groups of four bytes of a row.
template <class Form>
ET_AVX2_INLINE size_t prepare_part(const QLeftRows& left, PreparedRows& to) {
  const size_t depth = left.depth;
  const bool may_read_beyond = left.may_read_beyond;
  for (size_t r = 0; r < left.count; ++r) {
    Form::prepare(left.row(0, r), depth, may_read_beyond, to.bytes + r * kRowBytes);
  }
  return divide_up(depth, Form::kInterleave);
}

/// Prepares as many parts, or as much of one part, as there is room for; returns the number of
/// groups of four bytes of a row.
template <class Form>
ET_AVX2 size_t prepare_next(const QLeftRows& left, Place& place, PreparedRows& to) {
  constexpr size_t kBytes = sizeof(int32_t) / Form::kInterleave;
  size_t filled = 0;
  while (place.part < left.parts && filled < kMaxElements<Form>) {
    const size_t taken = std::min(left.depth - place.d, kMaxElements<Form> - filled);
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

template <class Form, size_t kUsed>
ET_AVX2_INLINE const int8_t* add_panel(const QLeftRows& left, const PreparedRows& as, size_t groups,
                                       size_t columns, const int8_t* w, TileSums& sums) {
  const int8_t* const ahead =
      left.ahead == nullptr ? w : left.ahead->take(prefetched_bytes(groups), w);
  return columns > kPanel / 2
             ? add_products<Form::kForm, kUsed, false>(as.bytes, groups, w, ahead, sums)
             : add_products<Form::kForm, kUsed, true>(as.bytes, groups, w, ahead, sums);
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
    TileSums sums[kJoinedPanels];
    const int8_t* w[kJoinedPanels];
    for (size_t i = 0; i < panels; ++i, packed += bytes) {
      begin(packed, sums[i]);
      w[i] = packed + 4 * kPanel;
    }
    Place place;
    while (place.part < left.parts) {
      const size_t groups = prepare_next<Form>(left, place, as);
      for (size_t i = 0; i < panels; ++i) {
        w[i] =
            add_panel<Form, kUsed>(left, as, groups, columns - first - i * kPanel, w[i], sums[i]);
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
  size_t groups = 0;
  if (left.parts == 1 && left.depth <= kMaxElements<Form>) {
    groups = prepare_part<Form>(left, as);
  } else {
    Place place;
    groups = prepare_next<Form>(left, place, as);
    if (place.part < left.parts) {
      return add_long_rows<Form, kUsed>(left, as, packed, columns, begin, finish);
    }
  }
  for (size_t first = 0; first < columns; first += kPanel) {
    TileSums sums;
    begin(packed, sums);
    packed = add_panel<Form, kUsed>(left, as, groups, columns - first, packed + 4 * kPanel, sums);
    finish(first, sums, packed);
    packed += 2 * kPanel * sizeof(float);
  }
}

/// The first sums of dynamic products: minus the sums of weights, times each row's zero point.
template <class Form, size_t kUsed>
struct DynamicSums {
  const QLeftRows& left;
  const QDynamic& how;

  ET_AVX2_INLINE void operator()(const int8_t* packed, TileSums& sums) const {
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
  ET_AVX2_INLINE void operator()(const int8_t* packed, TileSums& sums) const {
#pragma GCC unroll 6
    for (size_t r = 0; r < kUsed; ++r) {
      sums[2 * r] = ints_at(packed, 0);
      sums[2 * r + 1] = ints_at(packed, 8);
    }
  }
};

template <class Form, size_t kUsed>
ET_AVX2 void panels_to_floats(const QLeftRows& left, const int8_t* packed, size_t columns,
                              float* out, size_t stride, const QDynamic& how) {
  add_rows<Form, kUsed>(left, packed, columns, DynamicSums<Form, kUsed>{left, how},
                        StoreFloats<kUsed>{left.count, columns, out, stride, how, ToFloats(how)});
}

template <class Form, size_t kUsed>
ET_AVX2 void panels_to_bytes(const QLeftRows& left, const int8_t* packed, size_t columns,
                             int8_t* out, size_t stride, const Requantization& to) {
  add_rows<Form, kUsed>(left, packed, columns, StaticSums<kUsed>(),
                        StoreBytes<kUsed>{left.count, columns, out, stride, to});
}

template <class Form>
ET_AVX2 void to_floats(const QLeftRows& left, const int8_t* w, size_t columns, float* out,
                       size_t out_stride, const QDynamic& how) {
  using Panels = decltype(&to_floats<Form>);
  static constexpr Panels by_count[] = {panels_to_floats<Form, 1>, panels_to_floats<Form, 3>,
                                        panels_to_floats<Form, kRows>};
  by_count[(left.count > 1) + (left.count > 3)](left, w, columns, out, out_stride, how);
}
template <class Form>
ET_AVX2 void to_bytes(const QLeftRows& left, const int8_t* w, size_t columns, int8_t* out,
                      size_t out_stride, const Requantization& to) {
  using Panels = decltype(&to_bytes<Form>);
  static constexpr Panels by_count[] = {panels_to_bytes<Form, 1>, panels_to_bytes<Form, 3>,
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
