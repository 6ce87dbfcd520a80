// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Transforms and products of tiles of 4 x 4 points for AVX2.
#include <executorch/kernels/engine/qgemm/store_avx2.h>
#include <executorch/kernels/engine/qwinograd/work.h>

#if defined(__x86_64__)
namespace executorch::kernels::engine {
namespace {

using namespace qgemm_avx2;  // NOLINT: the vocabulary of tiles

constexpr size_t kLanes = 16;

ET_AVX2_INLINE __m256i words_at(const int8_t* bytes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}
ET_AVX2_INLINE void put_words(__m256i words, int8_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words);
}

/// B^T d of four points.
ET_AVX2_INLINE void transform_points(const __m256i (&d)[4], __m256i (&to)[4]) {
  to[0] = _mm256_sub_epi16(d[0], d[2]);
  to[1] = _mm256_add_epi16(d[1], d[2]);
  to[2] = _mm256_sub_epi16(d[2], d[1]);
  to[3] = _mm256_sub_epi16(d[1], d[3]);
}

/// 2 G g of three points.
ET_AVX2_INLINE void transform_kernel(const __m256i (&g)[3], __m256i (&to)[4]) {
  const __m256i ends = _mm256_add_epi16(g[0], g[2]);
  to[0] = _mm256_add_epi16(g[0], g[0]);
  to[1] = _mm256_add_epi16(ends, g[1]);
  to[2] = _mm256_sub_epi16(ends, g[1]);
  to[3] = _mm256_add_epi16(g[2], g[2]);
}

/// A^T m of four products.
ET_AVX2_INLINE void transform_products(const __m256i (&m)[4], __m256i (&to)[2]) {
  to[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m[1]), m[2]);
  to[1] = _mm256_sub_epi32(_mm256_sub_epi32(m[1], m[2]), m[3]);
}

/// The addresses of a tile's 4 x 4 points.
void points_of(const QWinogradWork& work, const QTilePlace& at, const int8_t* padding,
               const int8_t** points) {
  const ImageSize in = work.input;
  const int8_t* const image = work.points + at.image * in.height * in.width * work.pixel_stride;
  for (size_t i = 0; i < kQFrequencies; ++i) {
    // Wraps before the image.
    const size_t y = at.y + i / 4 - work.params.pad_top, x = at.x + i % 4 - work.params.pad_left;
    points[i] =
        y < in.height && x < in.width ? image + (y * in.width + x) * work.pixel_stride : padding;
  }
}

/// A block of a panel's results of a tile: two rows of up to two pixels, from sums times four.
ET_AVX2_INLINE void transform_tile(const int32_t* products, size_t apart, const __m256i (&first)[2],
                                   TileSums (&rows)[2]) {
#pragma GCC unroll 2
  for (size_t half = 0; half < 2; ++half) {
    __m256i across[4][2];
#pragma GCC unroll 4
    for (size_t y = 0; y < 4; ++y) {
      __m256i m[4];
#pragma GCC unroll 4
      for (size_t x = 0; x < 4; ++x) {
        m[x] = _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(products + (4 * y + x) * apart + half * kPanel / 2));
      }
      transform_products(m, across[y]);
    }
#pragma GCC unroll 2
    for (size_t x = 0; x < 2; ++x) {
      const __m256i column[4] = {across[0][x], across[1][x], across[2][x], across[3][x]};
      __m256i sums[2];
      transform_products(column, sums);
      for (size_t y = 0; y < 2; ++y) {
        rows[y][2 * x + half] = _mm256_add_epi32(_mm256_srai_epi32(sums[y], 2), first[half]);
      }
    }
  }
}

/// Calls store(place, row, sums) for the rows of tiles; first_sums(place) are those of a panel.
template <class FirstSums, class Store>
ET_AVX2_INLINE void for_each_row(const QWinogradWork& work, const QWinogradTiles& tiles,
                                 const FirstSums& first_sums, const Store& store) {
  for (size_t i = 0; i < tiles.count; ++i) {
    const QTilePlace at(work, tiles.first + i);
    __m256i first[2];
    first_sums(at, first);
    TileSums rows[2];
    transform_tile(tiles.products + i * kPanel, work.block * kPanel, first, rows);
    for (size_t row = 0; row < at.down; ++row) store(at, row, rows[row]);
  }
}

struct FirstSums {
  const int8_t* packed;

  ET_AVX2_INLINE void operator()(const QTilePlace&, __m256i (&sums)[2]) const {
    sums[0] = ints_at(packed, 0);
    sums[1] = ints_at(packed, 8);
  }
};

/// Minus the sums of weights, times the image's zero point.
struct FirstDynamicSums {
  const int8_t* packed;
  const RowQuantization* parameters;

  ET_AVX2_INLINE void operator()(const QTilePlace& at, __m256i (&sums)[2]) const {
    const __m256i zero = _mm256_set1_epi32(parameters[at.image].zero_point);
    sums[0] = _mm256_mullo_epi32(ints_at(packed, 0), zero);
    sums[1] = _mm256_mullo_epi32(ints_at(packed, 8), zero);
  }
};

struct StoreRowBytes {
  const QWinogradWork& work;
  const QConv2dCall& call;
  const int8_t* scales;
  size_t column;

  ET_AVX2_INLINE void operator()(const QTilePlace& at, size_t row, const TileSums& sums) const {
    const size_t stride = call.output_pixel_stride;
    StoreBytes<2>{at.across, work.outputs, call.output + at.pixel(work, row) * stride, stride,
                  call.to}(column, sums, scales);
  }
};

struct StoreRowFloats {
  const QWinogradWork& work;
  const DynamicQConv2dCall& call;
  const int8_t* scales;
  size_t column;

  ET_AVX2_INLINE void operator()(const QTilePlace& at, size_t row, const TileSums& sums) const {
    const size_t stride = call.output_pixel_stride;
    const QDynamic how = {call.parameters + at.image, 0, call.clamp_min, call.clamp_max};
    StoreFloats<2>{at.across, work.outputs, call.output + at.pixel(work, row) * stride,
                   stride,    how,          ToFloats(how)}(column, sums, scales);
  }
};

/// The scales of a packed panel.
const int8_t* scales_of(const QWinogradWork& work, const int8_t* packed) {
  return packed + work.panel_bytes - 2 * kPanel * sizeof(float);
}

}  // namespace

size_t QWinogradWork::frequency_at(size_t frequency) const {
  return frequency / frequencies_at_once * sizeof(PreparedRows) +
         frequency % frequencies_at_once * channels * sizeof(int16_t);
}

ET_AVX2 void transform_qpoints_avx2(const QWinogradWork& work, const QWinogradTiles& tiles) {
  size_t places[kQFrequencies];
  for (size_t i = 0; i < kQFrequencies; ++i) places[i] = work.frequency_at(i);
  for (size_t i = 0; i < tiles.count; ++i) {
    const QTilePlace at(work, tiles.first + i);
    const int8_t* points[kQFrequencies];
    points_of(work, at, tiles.padding + at.image * tiles.padding_stride, points);
    int8_t* const to = tiles.points + i / kRows * work.rows_bytes + i % kRows * kRowBytes;
    for (size_t channel = 0; channel < work.channels; channel += kLanes) {
      __m256i rows[4][4];
#pragma GCC unroll 4
      for (size_t y = 0; y < 4; ++y) {
        const __m256i d[4] = {
            words_at(points[4 * y] + channel), words_at(points[4 * y + 1] + channel),
            words_at(points[4 * y + 2] + channel), words_at(points[4 * y + 3] + channel)};
        transform_points(d, rows[y]);
      }
#pragma GCC unroll 4
      for (size_t x = 0; x < 4; ++x) {
        const __m256i d[4] = {rows[0][x], rows[1][x], rows[2][x], rows[3][x]};
        __m256i column[4];
        transform_points(d, column);
        for (size_t y = 0; y < 4; ++y) {
          put_words(column[y], to + places[4 * y + x] + channel * sizeof(int16_t));
        }
      }
    }
  }
}

ET_AVX2 void transform_qkernels_avx2(const QWinogradWork& work, const int8_t* packed, int8_t* to) {
  const size_t apart = work.channels * kPanel;  // from tap to tap
  packed += kPanel * sizeof(int32_t);
  for (size_t at = 0; at < apart; at += kLanes) {
    __m256i rows[4][3];
#pragma GCC unroll 3
    for (size_t x = 0; x < 3; ++x) {
      const __m256i g[3] = {words_at(packed + x * apart + at),
                            words_at(packed + (3 + x) * apart + at),
                            words_at(packed + (6 + x) * apart + at)};
      __m256i column[4];
      transform_kernel(g, column);
      for (size_t y = 0; y < 4; ++y) rows[y][x] = column[y];
    }
#pragma GCC unroll 4
    for (size_t y = 0; y < 4; ++y) {
      __m256i row[4];
      transform_kernel(rows[y], row);
      for (size_t x = 0; x < 4; ++x) {
        put_words(row[x], to + (4 * y + x) * work.kernel_bytes + at * sizeof(int16_t));
      }
    }
  }
}

ET_AVX2 void multiply_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles,
                                  const int8_t* kernels) {
  for (size_t i = 0; i < kQFrequencies; ++i) {
    const int8_t* rows = tiles.points + work.frequency_at(i);
    int32_t* to = tiles.products + i * work.block * kPanel;
    for (size_t tile = 0; tile < tiles.count; tile += kRows) {
      TileSums sums;
      for (__m256i& sum : sums) sum = _mm256_setzero_si256();
      const int8_t* const w = kernels + i * work.kernel_bytes;
      add_products<PanelForm::WordPairs, kRows, false>(rows, work.channels / 2, w, w, sums);
#pragma GCC unroll 12
      for (size_t j = 0; j < 2 * kRows; ++j) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j * kPanel / 2), sums[j]);
      }
      rows += work.rows_bytes;
      to += kRows * kPanel;
    }
  }
}

ET_AVX2 void store_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles,
                               const int8_t* packed, size_t column, const QConv2dCall& call) {
  for_each_row(work, tiles, FirstSums{packed},
               StoreRowBytes{work, call, scales_of(work, packed), column});
}

ET_AVX2 void store_qtiles_avx2(const QWinogradWork& work, const QWinogradTiles& tiles,
                               const int8_t* packed, size_t column,
                               const DynamicQConv2dCall& call) {
  for_each_row(work, tiles, FirstDynamicSums{packed, call.parameters},
               StoreRowFloats{work, call, scales_of(work, packed), column});
}

}  // namespace executorch::kernels::engine
#endif
