// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/vectors.h>
#include <executorch/kernels/engine/winograd/work.h>

namespace executorch::kernels::engine {
namespace {

template <size_t kLanes, class V>
ET_LANES_INLINE void load(const float* from, V& to) {
  to = lanes_at<kLanes>(from);
}
template <size_t kLanes, class V>
ET_LANES_INLINE void store(const V& from, float* to) {
  lanes_at<kLanes>(to) = from;
}

struct Place {
  size_t image, y, x;  // the first of its points of the result
};

ET_LANES_INLINE Place place_of(const WinogradWork& op, size_t tile) {
  const size_t in_image = tile % op.tiles_of_image;
  return {tile / op.tiles_of_image, in_image / op.tiles_across * 2, in_image % op.tiles_across * 2};
}

/// Where a tile's 4 x 4 points of the input lie; `zeros` for those outside of it.
ET_LANES_INLINE void points_of(const WinogradWork& op, const Place& place, const float* zeros,
                               const float** points) {
  const float* const image = op.input + place.image * op.height * op.width * op.in_stride;
  for (size_t i = 0; i < kFrequencies; ++i) {
    // Wraps before the image.
    const size_t y = place.y + i / 4 - op.pad_top, x = place.x + i % 4 - op.pad_left;
    points[i] = y < op.height && x < op.width ? image + (y * op.width + x) * op.in_stride : zeros;
  }
}

/// B^T d B of some channels. `check` becomes infinite or NaN where a number is exceptional.
template <size_t kLanes, class V>
ET_LANES_INLINE void transform_points(const float* const* points, size_t channel, float* to,
                                      size_t apart, V& check) {
  V d[4][4], t[4][4];
  for (size_t i = 0; i < kFrequencies; ++i) {
    load<kLanes>(points[i] + channel, d[i / 4][i % 4]);
    check += d[i / 4][i % 4] * kExceptionalFactor;
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
ET_LANES_INLINE void transform_input(const WinogradWork& op, const WinogradTiles& tiles) {
  using V = typename Lanes<kLanes>::Vector;
  std::memset(tiles.zeros, 0, op.channels * sizeof(float));
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    const float* points[kFrequencies];
    points_of(op, place_of(op, tiles.first + tile), tiles.zeros, points);
    float* const to = tiles.in + tile * op.channels;
    V check = {};
    size_t channel = 0;
    for (; channel + kLanes <= op.channels; channel += kLanes) {
      transform_points<kLanes>(points, channel, to, tiles.in_apart, check);
    }
    if (channel < op.channels) {  // overlaps the last vector: there are more channels than lanes
      transform_points<kLanes>(points, op.channels - kLanes, to, tiles.in_apart, check);
    }
    check *= 0;  // NaN where it is not finite
    float sum = 0;
    for (size_t i = 0; i < kLanes; ++i) sum += check[i];
    tiles.are_exceptional[tile] = sum != 0;
  }
}

/// A^T m A of some columns: 2 x 2 points.
template <size_t kLanes, class V>
ET_LANES_INLINE void transform_products(const float* m, size_t apart, V (&point)[2][2]) {
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

/// Writes a vector, or the first `columns` of it.
template <size_t kLanes, class V>
ET_LANES_INLINE void finish(const WinogradWork& op, size_t place, size_t columns, V& v) {
  const bool is_whole = columns >= kLanes;
  if (op.residual != nullptr) {
    V residual = {};
    if (is_whole) {
      load<kLanes>(op.residual + place, residual);
    } else {
      std::memcpy(&residual, op.residual + place, columns * sizeof(float));
    }
    v += residual;
  }
  clamp_lanes(v, op.clamp_min, op.clamp_max);
  if (is_whole) {
    store<kLanes>(v, op.output + place);
  } else {
    std::memcpy(op.output + place, &v, columns * sizeof(float));
  }
}

ET_LANES_INLINE size_t place_in_output(const WinogradWork& op, const Place& at, size_t y,
                                       size_t x) {
  return ((at.image * op.out_height + at.y + y) * op.out_width + at.x + x) * op.out_stride;
}

template <size_t kLanes>
ET_LANES_INLINE void transform_output(const WinogradWork& op, const WinogradTiles& tiles,
                                      size_t column, size_t columns) {
  using V = typename Lanes<kLanes>::Vector;
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

/// The frequencies whose weights are those of a point of the kernel, or whose difference is.
struct FrequencyPair {
  size_t first, second;
};
constexpr size_t kNone = kFrequencies;
constexpr FrequencyPair kPoints[3][3] = {{{0, kNone}, {1, 2}, {3, kNone}},
                                         {{4, 8}, {kNone, kNone}, {7, 11}},
                                         {{12, kNone}, {13, 14}, {15, kNone}}};

template <size_t kLanes, class V>
ET_LANES_INLINE void add_products(const WinogradWork& op, const float* pixel, const float* first,
                                  const float* second, V& sum) {
  for (size_t channel = 0; channel < op.channels; ++channel) {
    V w, without = {};
    load<kLanes>(first + channel * op.panel, w);
    if (second != nullptr) load<kLanes>(second + channel * op.panel, without);
    sum += pixel[channel] * (w - without);
  }
}

template <size_t kLanes, class V>
ET_LANES_INLINE void direct(const WinogradWork& op, const float* const* points,
                            const float* weights, const float* centres, V& sum) {
  const size_t apart = (1 + op.channels) * op.panel;
  load<kLanes>(weights + kConstantFrequency * apart, sum);
  weights += op.panel;  // biases come first
  for (size_t i = 0; i < 9; ++i) {
    const FrequencyPair& at = kPoints[i / 3][i % 3];
    const float* const first = at.first == kNone ? centres : weights + at.first * apart;
    const float* const second = at.second == kNone ? nullptr : weights + at.second * apart;
    add_products<kLanes>(op, points[i / 3 * 4 + i % 3], first, second, sum);
  }
}

template <size_t kLanes>
ET_LANES_INLINE void compute_exceptional(const WinogradWork& op, const WinogradTiles& tiles,
                                         size_t column, size_t columns, const float* weights,
                                         const float* centres) {
  using V = typename Lanes<kLanes>::Vector;
  for (size_t tile = 0; tile < tiles.count; ++tile) {
    if (!tiles.are_exceptional[tile]) continue;
    const Place at = place_of(op, tiles.first + tile);
    const float* points[kFrequencies];
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

/// The forms of the transforms for vectors of kLanes.
#define ET_TRANSFORMS(suffix, TARGET, kLanes)                                                    \
  TARGET void input_##suffix(const WinogradWork& op, const WinogradTiles& tiles) {               \
    transform_input<kLanes>(op, tiles);                                                          \
  }                                                                                              \
  TARGET void output_##suffix(const WinogradWork& op, const WinogradTiles& tiles, size_t column, \
                              size_t columns) {                                                  \
    transform_output<kLanes>(op, tiles, column, columns);                                        \
  }                                                                                              \
  TARGET void exceptional_##suffix(const WinogradWork& op, const WinogradTiles& tiles,           \
                                   size_t column, size_t columns, const float* weights,          \
                                   const float* centres) {                                       \
    compute_exceptional<kLanes>(op, tiles, column, columns, weights, centres);                   \
  }                                                                                              \
  constexpr WinogradTransforms k_##suffix = {input_##suffix, output_##suffix, exceptional_##suffix};

ET_TRANSFORMS(plain, , 4)
#if defined(__x86_64__)
ET_TRANSFORMS(avx2, ET_TARGET_AVX2, 8)
ET_TRANSFORMS(avx512, ET_TARGET_AVX512, 16)
#endif
#undef ET_TRANSFORMS

}  // namespace

const WinogradTransforms& winograd_transforms([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return k_avx512;
  if (set >= InstructionSet::Avx2) return k_avx2;
#endif
  return k_plain;
}

}  // namespace executorch::kernels::engine
