// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <cmath>
#include <cstring>

#include "winograd.h"
#include "xnnpack/common.h"

#if XNN_ARCH_X86_64
#include <executorch/kernels/loops/wide.h>

#include "float_lanes.h"

namespace {

using executorch_lanes::at;
using executorch_lanes::Of;
using Op = executorch_winograd;
using Tiles = executorch_tiles;

template <size_t kLanes, class V>
INLINE void load(const float* from, V& to) {
  to = at<kLanes>(from);
}
template <size_t kLanes, class V>
INLINE void store(const V& from, float* to) {
  at<kLanes>(to) = from;
}

struct Place {
  size_t image, y, x;  // the first of its points of the result
};

INLINE Place place_of(const Op& op, size_t tile) {
  const size_t in_image = tile % op.tiles_of_image;
  return {tile / op.tiles_of_image, in_image / op.tiles_across * 2, in_image % op.tiles_across * 2};
}

// Where a tile's 4 x 4 points of the input are; zeros for those outside of it.
INLINE void points_of(const Op& op, const Place& place, const float* zeros, const float** points) {
  const float* const image = op.input + place.image * op.height * op.width * op.in_stride;
  for (size_t i = 0; i < EXECUTORCH_FREQUENCIES; ++i) {
    // Wraps before the image.
    const size_t y = place.y + i / 4 - op.above, x = place.x + i % 4 - op.left;
    points[i] = y < op.height && x < op.width ? image + (y * op.width + x) * op.in_stride : zeros;
  }
}

// B^T d B of some channels. `check` becomes infinite or NaN where a number is exceptional.
template <size_t kLanes, class V>
INLINE void transform_points(const float* const* points, size_t channel, float* to, size_t apart,
                             V& check) {
  V d[4][4], t[4][4];
  for (size_t i = 0; i < EXECUTORCH_FREQUENCIES; ++i) {
    load<kLanes>(points[i] + channel, d[i / 4][i % 4]);
    check += d[i / 4][i % 4] * EXECUTORCH_LARGEST_FACTOR;
  }
  for (size_t x = 0; x < 4; ++x) {
    t[0][x] = d[0][x] - d[2][x];
    t[1][x] = d[1][x] + d[2][x];
    t[2][x] = d[2][x] - d[1][x];
    t[3][x] = d[1][x] - d[3][x];
  }
  to += channel;
  for (size_t y = 0; y < 4; ++y, to += 4 * apart) {
    store<kLanes>(t[y][0] - t[y][2], to);
    store<kLanes>(t[y][1] + t[y][2], to + apart);
    store<kLanes>(t[y][2] - t[y][1], to + 2 * apart);
    store<kLanes>(t[y][1] - t[y][3], to + 3 * apart);
  }
}

template <size_t kLanes>
INLINE void input_in(const Op& op, const Tiles& tiles) {
  using V = typename Of<kLanes>::Vector;
  memset(tiles.zeros, 0, op.channels * sizeof(float));
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    const float* points[EXECUTORCH_FREQUENCIES];
    points_of(op, place_of(op, tiles.first + tile), tiles.zeros, points);
    float* const to = tiles.in + tile * op.channels;
    V check = {};
    size_t channel = 0;
    for (; channel + kLanes <= op.channels; channel += kLanes) {
      transform_points<kLanes>(points, channel, to, tiles.in_apart, check);
    }
    if (channel < op.channels) {  // some again: there are more than a vector has
      transform_points<kLanes>(points, op.channels - kLanes, to, tiles.in_apart, check);
    }
    check *= 0;  // NaN where it is not finite
    float sum = 0;
    for (size_t i = 0; i < kLanes; ++i) sum += check[i];
    tiles.are_exceptional[tile] = sum != 0;
  }
}

// A^T m A of some columns: 2 x 2 points.
template <size_t kLanes, class V>
INLINE void transform_products(const float* m, size_t apart, V (&point)[2][2]) {
  V sums[2][4];
  for (size_t x = 0; x < 4; ++x, m += apart) {
    V p[4];
    for (size_t y = 0; y < 4; ++y) load<kLanes>(m + 4 * y * apart, p[y]);
    sums[0][x] = p[0] + (p[1] + p[2]);
    sums[1][x] = (p[1] - p[2]) - p[3];
  }
  for (size_t y = 0; y < 2; ++y) {
    point[y][0] = sums[y][0] + (sums[y][1] + sums[y][2]);
    point[y][1] = (sums[y][1] - sums[y][2]) - sums[y][3];
  }
}

template <size_t kLanes, class V>
INLINE void limit(const Op& op, V& v) {  // NaN stays
  const V least = V{} + op.least, most = V{} + op.most;
  v = v < least ? least : v;
  v = v > most ? most : v;
}

// Writes a vector, or the first `columns` of it.
template <size_t kLanes, class V>
INLINE void finish(const Op& op, size_t place, size_t columns, V& v) {
  const bool is_whole = columns >= kLanes;
  if (op.added != nullptr) {
    V added = {};
    if (is_whole) {
      load<kLanes>(op.added + place, added);
    } else {
      memcpy(&added, op.added + place, columns * sizeof(float));
    }
    v += added;
  }
  limit<kLanes>(op, v);
  if (is_whole) {
    store<kLanes>(v, op.output + place);
  } else {
    memcpy(op.output + place, &v, columns * sizeof(float));
  }
}

INLINE size_t place_in_output(const Op& op, const Place& at, size_t y, size_t x) {
  return ((at.image * op.out_height + at.y + y) * op.out_width + at.x + x) * op.out_stride;
}

template <size_t kLanes>
INLINE void output_in(const Op& op, const Tiles& tiles, size_t column, size_t columns) {
  using V = typename Of<kLanes>::Vector;
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    if (tiles.are_exceptional[tile]) continue;
    const Place at = place_of(op, tiles.first + tile);
    const size_t below = at.y + 1 < op.out_height ? 2 : 1;
    const size_t across = at.x + 1 < op.out_width ? 2 : 1;
    // The matrix has whole panels of columns, which are whole vectors.
    for (size_t c = 0; c < columns; c += kLanes) {
      V point[2][2];
      transform_products<kLanes>(tiles.out + tile * op.panel + c, tiles.out_apart, point);
      for (size_t y = 0; y < below; ++y) {
        for (size_t x = 0; x < across; ++x) {
          finish<kLanes>(op, place_in_output(op, at, y, x) + column + c, columns - c, point[y][x]);
        }
      }
    }
  }
}

// The frequencies whose weights are those of a point of the kernel, or whose difference is.
struct Weights {
  size_t first, second;
};
constexpr size_t kNone = EXECUTORCH_FREQUENCIES;
constexpr Weights kPoints[3][3] = {{{0, kNone}, {1, 2}, {3, kNone}},
                                   {{4, 8}, {kNone, kNone}, {7, 11}},
                                   {{12, kNone}, {13, 14}, {15, kNone}}};

template <size_t kLanes, class V>
INLINE void add_products(const Op& op, const float* pixel, const float* first, const float* second,
                         V& sum) {
  for (size_t channel = 0; channel < op.channels; ++channel) {
    V w, without = {};
    load<kLanes>(first + channel * op.panel, w);
    if (second != nullptr) load<kLanes>(second + channel * op.panel, without);
    sum += pixel[channel] * (w - without);
  }
}

template <size_t kLanes, class V>
INLINE void direct(const Op& op, const float* const* points, const float* weights,
                   const float* centres, V& sum) {
  const size_t apart = (1 + op.channels) * op.panel;
  load<kLanes>(weights + EXECUTORCH_CONSTANT * apart, sum);
  weights += op.panel;  // biases come first
  for (size_t i = 0; i < 9; ++i) {
    const Weights& at = kPoints[i / 3][i % 3];
    const float* const first = at.first == kNone ? centres : weights + at.first * apart;
    const float* const second = at.second == kNone ? nullptr : weights + at.second * apart;
    add_products<kLanes>(op, points[i / 3 * 4 + i % 3], first, second, sum);
  }
}

template <size_t kLanes>
INLINE void exceptional_in(const Op& op, const Tiles& tiles, size_t column, size_t columns,
                           const float* weights, const float* centres) {
  using V = typename Of<kLanes>::Vector;
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    if (!tiles.are_exceptional[tile]) continue;
    const Place at = place_of(op, tiles.first + tile);
    const float* points[EXECUTORCH_FREQUENCIES];
    points_of(op, at, tiles.zeros, points);
    for (size_t i = 0; i < 4; ++i) {
      const size_t y = i / 2, x = i % 2;
      if (at.y + y >= op.out_height || at.x + x >= op.out_width) continue;
      for (size_t c = 0; c < columns; c += kLanes) {
        V sum;
        direct<kLanes>(op, points + 4 * y + x, weights + c, centres + c, sum);
        finish<kLanes>(op, place_in_output(op, at, y, x) + column + c, columns - c, sum);
      }
    }
  }
}

bool has_widest() { return executorch::kernels::has_fused_widest(); }

AVX2 void input_avx2(const Op& op, const Tiles& tiles) { input_in<8>(op, tiles); }
AVX512 void input_avx512(const Op& op, const Tiles& tiles) { input_in<16>(op, tiles); }
AVX2 void output_avx2(const Op& op, const Tiles& tiles, size_t column, size_t columns) {
  output_in<8>(op, tiles, column, columns);
}
AVX512 void output_avx512(const Op& op, const Tiles& tiles, size_t column, size_t columns) {
  output_in<16>(op, tiles, column, columns);
}
AVX2 void exceptional_avx2(const Op& op, const Tiles& tiles, size_t column, size_t columns,
                           const float* weights, const float* centres) {
  exceptional_in<8>(op, tiles, column, columns, weights, centres);
}

}  // namespace

void executorch_transform_input(const Op* op, const Tiles* tiles) {
  (has_widest() ? input_avx512 : input_avx2)(*op, *tiles);
}

void executorch_transform_output(const Op* op, const Tiles* tiles, size_t column, size_t columns) {
  (has_widest() ? output_avx512 : output_avx2)(*op, *tiles, column, columns);
}

void executorch_compute_exceptional(const Op* op, const Tiles* tiles, size_t column, size_t columns,
                                    const float* weights, const float* centres) {
  exceptional_avx2(*op, *tiles, column, columns, weights, centres);
}
#endif
