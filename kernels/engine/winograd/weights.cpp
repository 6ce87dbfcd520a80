// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Packed weights: for each panel of outputs and each frequency biases and [channel, output], as
// products have them; then for each panel [channel, output] of the kernels' middle points.
#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack_panels.h>
#include <executorch/kernels/engine/winograd/winograd.h>
#include <executorch/kernels/engine/winograd/work.h>

namespace executorch::kernels::engine {
namespace {

/// Channels and outputs of a block that is transformed and then packed, while it is in the
/// first-level cache.
constexpr size_t kSide = 16;
constexpr size_t kTaps = 9;
/// Larger weights could make a sum of finite numbers infinite that a direct one does not.
constexpr float kLargestWeight = 0x1p50f;

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/winograd/weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

using Transform = void (*)(const float* kernel, size_t channels, float* to);

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
  if (end - first < panel) {
    std::fill(to, to + of_panel, 0.0f);
  } else {
    for (size_t i = 0; i < kFrequencies; ++i) {
      std::fill_n(to + i * all.frequency_floats(), panel, 0.0f);
    }
  }
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
  const Packing all = {params, weights,        tiles, ET_SIMD_FUNCTION(set, transform_kernel),
                       packed, packed + floats};
  std::fill(all.centres + panels * params.group_inputs * tiles.panel,
            packed + bytes / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(bytes < kBytesWorthThreads ? alone : threads, panels,
                [&](size_t number, size_t) { pack_outputs(all, number); });
}

}  // namespace executorch::kernels::engine
