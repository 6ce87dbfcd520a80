// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "depthwise_bands.h"

#include "xnnpack/common.h"

#if XNN_ARCH_X86_64
#include <immintrin.h>

#include "depthwise_window.h"
#include "float_lanes.h"

namespace {

using executorch_lanes::at;
using executorch_lanes::Of;

template <class T>
INLINE T* moved(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

// kRows rows of kPoints points each, and the part of the image that their windows cover.
template <class W, size_t kRows, size_t kPoints>
struct Block {
  static constexpr size_t rows = kRows, points = kPoints;
  static constexpr size_t height = W::columns_of(kRows), width = W::columns_of(kPoints);
  static constexpr size_t step = kPoints * W::step;  // columns to the next one
};

// Where points of the image lie: `count` columns of a block from `column` on.
template <class W, class B>
INLINE void find_columns(const executorch_band& band, const float** table, size_t column,
                         size_t count, const float** to) {
  for (size_t end = column + count; column < end; ++column) {
#pragma GCC unroll 10
    for (size_t y = 0; y < B::height; ++y) {
      // Of the rows whose windows have it, that one where it is first, or else the last row.
      const size_t row = y / W::step < B::rows ? y / W::step : B::rows - 1;
      const float* const point =
          moved(table, row * band.table_row)[column * W::size + y - row * W::step];
      *to++ = place_of_point(point, band.zero, band.offset);
    }
  }
}

// kLanes channels of a block.
template <size_t kLanes, class W, class B>
INLINE void sum_block(const executorch_band& band, const float* const* in, size_t channel,
                      float* output) {
  using V = typename Of<kLanes>::Vector;
  const float* const weights = band.weights + channel / W::packed * W::block + channel % W::packed;
  V sum[B::rows][B::points];
  const V bias = at<kLanes>(weights);
#pragma GCC unroll 4
  for (size_t row = 0; row < B::rows; ++row) {
#pragma GCC unroll 8
    for (size_t point = 0; point < B::points; ++point) sum[row][point] = bias;
  }
#pragma GCC unroll 16
  for (size_t y = 0; y < B::height; ++y) {
    V weight[B::rows][W::size];
#pragma GCC unroll 4
    for (size_t row = 0; row < B::rows; ++row) {
      const size_t of_window = y - row * W::step;  // wraps above the window
      if (of_window >= W::size) continue;
#pragma GCC unroll 8
      for (size_t x = 0; x < W::size; ++x) {
        weight[row][x] = at<kLanes>(weights + (1 + x * W::size + of_window) * W::packed);
      }
    }
#pragma GCC unroll 16
    for (size_t column = 0; column < B::width; ++column) {
      const V number = at<kLanes>(in[column * B::height + y] + channel);
#pragma GCC unroll 4
      for (size_t row = 0; row < B::rows; ++row) {
        if (y - row * W::step >= W::size) continue;
#pragma GCC unroll 8
        for (size_t point = 0; point < B::points; ++point) {
          const size_t x = column - point * W::step;  // wraps before the window
          if (x < W::size) sum[row][point] += number * weight[row][x];
        }
      }
    }
  }
  const V least = V{} + band.least, most = V{} + band.most;
#pragma GCC unroll 4
  for (size_t row = 0; row < B::rows; ++row) {
#pragma GCC unroll 8
    for (size_t point = 0; point < B::points; ++point) {
      const size_t place = row * band.output_row + point * band.output_point;
      store_limited<kLanes>(moved(output, place) + channel, sum[row][point], least, most);
    }
  }
}

// Rows of whole blocks; where no whole one is left, some points are computed again.
template <class W, class B>
INLINE void compute_block_row(const executorch_band& band, const float** table, float* output) {
  constexpr size_t kShared = B::width - B::step;  // columns of a block and the next one
  const float* in[B::width * B::height];
  find_columns<W, B>(band, table, 0, kShared, in);
  for (size_t point = 0; point < band.width; point += B::points) {
    if (point + B::points > band.width) {
      point = band.width - B::points;
      find_columns<W, B>(band, table, point * W::step, kShared, in);
    }
    const float** const fresh = in + kShared * B::height;
    find_columns<W, B>(band, table, point * W::step + kShared, B::step, fresh);
    float* const to = moved(output, point * band.output_point);
    size_t channel = 0;
    for (; channel + 16 <= band.channels; channel += 16) sum_block<16, W, B>(band, in, channel, to);
    if (channel < band.channels) sum_block<8, W, B>(band, in, channel, to);
    for (size_t i = 0; i < kShared * B::height; ++i) in[i] = in[i + B::step * B::height];
  }
}

template <class W, size_t kRows, size_t kPoints>
AVX512 size_t compute_rows(const executorch_band* band) {
  if (band->width < kPoints || band->channels % 8 != 0) return band->rows;
  size_t row = 0;
  for (; row + kRows <= band->rows; row += kRows) {
    compute_block_row<W, Block<W, kRows, kPoints>>(*band, moved(band->table, row * band->table_row),
                                                   moved(band->output, row * band->output_row));
  }
  return band->rows - row;
}

}  // namespace

executorch_compute_rows* executorch_find_rows_at_once(struct executorch_windows_of_band windows,
                                                      size_t* rows) {
  const auto is = [&](size_t size, size_t step) {
    return windows.size == size && windows.step == step;
  };
  *rows = is(3, 2) ? 2 : 3;
  if (is(3, 1)) return compute_rows<Window<3, 1, 16>, 3, 4>;
  if (is(3, 2)) return compute_rows<Window<3, 2, 16>, 2, 4>;
  if (is(5, 1)) return compute_rows<Window<5, 1, 16>, 3, 4>;
  return nullptr;
}
#endif
