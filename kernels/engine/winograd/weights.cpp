// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed weights: for each panel of outputs and each frequency biases and [channel, output], as
// products have them; then for each panel [channel, output] of the kernels' middle points.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/winograd/winograd.h>
#include <executorch/kernels/engine/winograd/work.h>

namespace executorch::kernels::engine {
namespace {

/// Channels and outputs of a block that is transposed and then transformed, while it is in the
/// first-level cache.
constexpr size_t kSide = 16;
constexpr size_t kTaps = 9;
/// With larger weights, sums of finite numbers may overflow that direct sums do not.
constexpr float kLargestWeight = 0x1p50f;

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/winograd/weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

using Transform = void (*)(const float* points, size_t tap_stride, size_t channel_stride,
                           size_t outputs, size_t panel, float* to, size_t apart, float* centres);

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

/// Points of kSide channels and up to kSide outputs in the first-level cache: element [d, output].
struct Points {
  static constexpr size_t kDepth = kTaps * kSide;
  alignas(64) float at[kDepth][kSide];
  size_t tap_stride, channel_stride;  ///< floats
};

/// Outputs beyond `rows` are zeros.
void gather_points(const Packing& all, size_t output, size_t rows, size_t channel, Points* to) {
  const ConvWeights& w = all.weights;
  const float* const from = w.data + output * w.output_stride + channel * w.input_stride;
  if (rows < kSide) std::memset(to->at, 0, sizeof(to->at));
  if (w.input_stride == kTaps && w.y_stride == 3 && w.x_stride == 1) {
    to->tap_stride = kSide;
    to->channel_stride = kTaps * kSide;
    all.tiles.pack_rows(from, rows, w.output_stride, Points::kDepth, to->at[0], kSide,
                        PackedUse::Soon);
    return;
  }
  to->tap_stride = kSide * kSide;
  to->channel_stride = kSide;
  for (size_t tap = 0; tap < kTaps; ++tap) {
    const float* const of_tap = from + tap / 3 * w.y_stride + tap % 3 * w.x_stride;
    float* const points = to->at[tap * kSide];
    if (w.input_stride == 1) {
      all.tiles.pack_rows(of_tap, rows, w.output_stride, kSide, points, kSide, PackedUse::Soon);
      continue;
    }
    for (size_t i = 0; i < kSide; ++i) {
      for (size_t row = 0; row < rows; ++row) {
        points[i * kSide + row] = of_tap[row * w.output_stride + i * w.input_stride];
      }
    }
  }
}

/// Some outputs of a panel from `output` on and kSide channels from `channel` on.
void pack_block(const Packing& all, size_t output, size_t rows, size_t channel) {
  Points points;
  gather_points(all, output, rows, channel, &points);
  const size_t panel = all.tiles.panel;
  const size_t number = output / panel, column = output % panel, apart = all.frequency_floats();
  all.transform(points.at[0], points.tap_stride, points.channel_stride, rows, panel,
                all.packed + number * kFrequencies * apart + (1 + channel) * panel + column, apart,
                all.centres + (number * all.channels() + channel) * panel + column);
}

void pack_outputs(const Packing& all, size_t number) {
  const size_t panel = all.tiles.panel, outputs = all.params.group_outputs;
  const size_t first = number * panel, end = std::min(outputs, first + panel);
  const size_t of_panel = kFrequencies * all.frequency_floats();
  float* const to = all.packed + number * of_panel;
  if (end - first < panel) {
    std::fill(to, to + of_panel, 0.0f);
    std::fill_n(all.centres + number * all.channels() * panel, all.channels() * panel, 0.0f);
  } else {
    for (size_t i = 0; i < kFrequencies; ++i) {
      std::fill_n(to + i * all.frequency_floats(), panel, 0.0f);
    }
  }
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

bool winograd_accepts(const Conv2dParams& p, const ConvWeights& w) {
  const auto check = ET_SIMD_FUNCTION(instruction_set(), are_small);
  const size_t kernel = kTaps * p.group_inputs;
  const bool has_whole_kernels =
      (w.input_stride == kTaps && w.y_stride == 3 && w.x_stride == 1) ||
      (w.input_stride == 1 && w.y_stride == 3 * p.group_inputs && w.x_stride == p.group_inputs);
  if (has_whole_kernels && w.output_stride == kernel) {
    return check(w.data, kernel * p.group_outputs);
  }
  bool result = true;
  for (size_t at = 0; at < p.group_outputs * kernel; ++at) {
    const size_t input = at % p.group_inputs, tap = at / p.group_inputs % kTaps;
    result &= check(w.data + at / kernel * w.output_stride + tap / 3 * w.y_stride +
                        tap % 3 * w.x_stride + input * w.input_stride,
                    1);
  }
  return result;
}

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
  const Packing all = {params, weights,        tiles, ET_SIMD_FUNCTION(set, transform_outputs),
                       packed, packed + floats};
  std::fill(all.centres + panels * params.group_inputs * tiles.panel,
            packed + bytes / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(bytes < kBytesWorthThreads ? alone : threads, panels,
                [&](size_t number, size_t) { pack_outputs(all, number); });
}

}  // namespace executorch::kernels::engine
