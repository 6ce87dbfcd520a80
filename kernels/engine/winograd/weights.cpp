// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed weights: for each panel of outputs and each frequency biases and [channel, output], as
// products have them; then for each panel [channel, output] of the kernels' middle points.
#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack_panels.h>
#include <executorch/kernels/engine/vectors.h>
#include <executorch/kernels/engine/winograd.h>
#include <executorch/kernels/engine/winograd/work.h>

namespace executorch::kernels::engine {
namespace {

/// Channels and outputs of a block that is transformed and then packed, while it is in the
/// first-level cache.
constexpr size_t kSide = 16;
constexpr size_t kTaps = 9;

/// The next larger number.
template <class Ints, class V>
ET_LANES_INLINE void next_larger(V& of) {
  const Ints bits = (Ints)of;
  const Ints larger = bits < 0 ? bits - 1 : bits + 1;
  of = (V)(of == 0 ? (Ints{} + 1) : larger);
}

// Half of a sum and of a difference differ where what was added is not zero, though rounded: its
// sign decides what becomes of an infinite number.
template <class Ints, class V>
ET_LANES_INLINE void keep_apart(V& of_sum, V& of_difference, const V& between) {
  V raised = of_sum;
  next_larger<Ints>(raised);
  const auto is_equal = of_sum == of_difference;
  of_sum = is_equal & (between > 0) ? raised : of_sum;
  of_difference = is_equal & (between < 0) ? raised : of_difference;
}

// G g G^T of some channels; points of g are `stride` apart, what comes of it `apart`.
template <size_t kLanes>
ET_LANES_INLINE void transform_kernels(const float* g, size_t stride, float* to, size_t apart) {
  using V = typename Lanes<kLanes>::Vector;
  using D = typename Lanes<kLanes>::Doubles;
  using Ints = typename Lanes<kLanes>::Ints;
  D rows[4][3];
  for (size_t x = 0; x < 3; ++x) {
    const V above = lanes_at<kLanes>(g + x * stride),
            middle = lanes_at<kLanes>(g + (3 + x) * stride);
    const V below = lanes_at<kLanes>(g + (6 + x) * stride);
    const D a = __builtin_convertvector(above, D), b = __builtin_convertvector(middle, D);
    const D c = __builtin_convertvector(below, D);
    rows[0][x] = a;
    rows[1][x] = (a + b + c) * 0.5;
    rows[2][x] = (a - b + c) * 0.5;
    rows[3][x] = c;
  }
  V u[kFrequencies];
  for (size_t y = 0; y < 4; ++y) {
    const D a = rows[y][0], b = rows[y][1], c = rows[y][2];
    u[4 * y] = __builtin_convertvector(a, V);
    u[4 * y + 1] = __builtin_convertvector((a + b + c) * 0.5, V);
    u[4 * y + 2] = __builtin_convertvector((a - b + c) * 0.5, V);
    u[4 * y + 3] = __builtin_convertvector(c, V);
  }
  const V top = lanes_at<kLanes>(g + stride), left = lanes_at<kLanes>(g + 3 * stride);
  const V right = lanes_at<kLanes>(g + 5 * stride), bottom = lanes_at<kLanes>(g + 7 * stride);
  keep_apart<Ints>(u[1], u[2], top);
  keep_apart<Ints>(u[4], u[8], left);
  keep_apart<Ints>(u[7], u[11], right);
  keep_apart<Ints>(u[13], u[14], bottom);
  for (size_t i = 0; i < kFrequencies; ++i) lanes_at<kLanes>(to + i * apart) = u[i];
}

// kernel: of an output and kSide channels. to: [frequency and the middle point, output, channel]
template <size_t kLanes>
ET_LANES_INLINE void transform_side(const float* kernel, size_t channels, float* to) {
  constexpr size_t kApart = kSide * kSide;
  for (size_t i = 0; i < kSide; i += kLanes) {
    transform_kernels<kLanes>(kernel + i, channels, to + i, kApart);
    lanes_at<kLanes>(to + kFrequencies * kApart + i) = lanes_at<kLanes>(kernel + 4 * channels + i);
  }
}

void transform_plain(const float* kernel, size_t channels, float* to) {
  transform_side<4>(kernel, channels, to);
}
#if defined(__x86_64__)
ET_TARGET_AVX2 void transform_avx2(const float* kernel, size_t channels, float* to) {
  transform_side<8>(kernel, channels, to);
}
ET_TARGET_AVX512 void transform_avx512(const float* kernel, size_t channels, float* to) {
  transform_side<16>(kernel, channels, to);
}

#endif

using Transform = void (*)(const float* kernel, size_t channels, float* to);

Transform transform_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return transform_avx512;
  if (set >= InstructionSet::Avx2) return transform_avx2;
#endif
  return transform_plain;
}

/// One packing: where it reads and writes.
struct Packing {
  const Conv2dParams& params;
  const ConvWeights& weights;
  const GemmTiles& tiles;
  Transform transform;
  float *packed, *centres;

  size_t channels() const { return params.group_inputs; }
  size_t frequency_floats() const { return panel_floats(tiles, channels()); }
};

/// The kernels of an output and kSide channels, [tap, channel], gathered where they are not
/// contiguous.
void gather_kernel(const Packing& all, size_t output, size_t channel, float* to) {
  const ConvWeights& w = all.weights;
  for (size_t tap = 0; tap < kTaps; ++tap, to += kSide) {
    const float* const from = w.data + output * w.output_stride + tap / 3 * w.y_stride +
                              tap % 3 * w.x_stride + channel * w.input_stride;
    for (size_t i = 0; i < kSide; ++i) to[i] = from[i * w.input_stride];
  }
}

/// Some outputs from `output` on and kSide channels from `channel` on.
void pack_block(const Packing& all, size_t output, size_t rows, size_t channel) {
  alignas(64) float block[kFrequencies + 1][kSide][kSide];
  alignas(64) float kernel[kTaps * kSide];
  const size_t panel = all.tiles.panel;
  for (size_t row = 0; row < rows; ++row) {
    gather_kernel(all, output + row, channel, kernel);
    all.transform(kernel, kSide, block[0][row]);
  }
  const size_t number = output / panel, column = output % panel, apart = all.frequency_floats();
  float* const to = all.packed + number * kFrequencies * apart + (1 + channel) * panel + column;
  for (size_t i = 0; i < kFrequencies; ++i) {
    all.tiles.pack_rows(block[i][0], rows, kSide, kSide, to + i * apart, panel);
  }
  all.tiles.pack_rows(block[kFrequencies][0], rows, kSide, kSide,
                      all.centres + (number * all.channels() + channel) * panel + column, panel);
}

void pack_outputs(const Packing& all, size_t number) {
  const size_t panel = all.tiles.panel, outputs = all.params.group_outputs;
  const size_t first = number * panel, end = std::min(outputs, first + panel);
  const size_t of_panel = kFrequencies * all.frequency_floats();
  float* const to = all.packed + number * of_panel;
  std::fill(to, to + of_panel, 0.0f);
  float* const centres = all.centres + number * all.channels() * panel;
  std::fill(centres, centres + all.channels() * panel, 0.0f);
  if (all.weights.bias != nullptr) {
    pack_bias(all.tiles, all.weights.bias + first, end - first,
              to + kConstantFrequency * all.frequency_floats());
  }
  for (size_t output = first; output < end; output += kSide) {
    for (size_t channel = 0; channel < all.channels(); channel += kSide) {
      // The last block overlaps: there are at least kSide channels.
      pack_block(all, output, std::min(end - output, kSide),
                 std::min(channel, all.channels() - kSide));
    }
  }
}

}  // namespace

size_t winograd_packed_bytes(const Conv2dParams& params, InstructionSet set) {
  const GemmTiles& tiles = gemm_tiles(set);
  const size_t panels = divide_up(params.group_outputs, tiles.panel);
  const size_t floats = panels * (kFrequencies * panel_floats(tiles, params.group_inputs) +
                                  params.group_inputs * tiles.panel);
  return round_up(floats * sizeof(float), kAlignment);
}

void pack_winograd(const Conv2dParams& params, const ConvWeights& weights, float* packed,
                   Threads& threads, InstructionSet set) {
  const GemmTiles& tiles = gemm_tiles(set);
  const size_t panels = divide_up(params.group_outputs, tiles.panel);
  const size_t bytes = winograd_packed_bytes(params, set);
  const size_t floats = panels * kFrequencies * panel_floats(tiles, params.group_inputs);
  const Packing all = {params, weights, tiles, transform_for(set), packed, packed + floats};
  std::fill(all.centres + panels * params.group_inputs * tiles.panel,
            packed + bytes / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(bytes < kBytesWorthThreads ? alone : threads, panels,
                [&](size_t number, size_t) { pack_outputs(all, number); });
}

}  // namespace executorch::kernels::engine
