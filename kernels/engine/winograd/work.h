// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Data that the steps of a Winograd convolution share (winograd.h). Sizes and strides count floats.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

/// Transformed points of a tile and of a kernel: frequency 4 y + x.
inline constexpr size_t kFrequencies = 16;
/// A constant at this frequency is the same constant at each point of the result: a bias.
inline constexpr size_t kConstantFrequency = 5;
/// This factor makes numbers above 2^41 in magnitude infinite, and possibly sums of 16 numbers
/// above 2^36.
inline constexpr float kExceptionalFactor = 0x1p88f;

struct WinogradWork {
  const float* input;
  float* output;
  const float* residual;  ///< lies as the output; null for none
  const float* weights;
  size_t height, width, out_height, out_width;
  size_t in_stride, out_stride;  ///< from pixel to pixel
  size_t pad_top, pad_left;
  size_t channels, outputs;
  size_t tiles, tiles_across, tiles_of_image;
  size_t block;  ///< tiles of an item
  size_t panel, panels_at_once;
  float clamp_min, clamp_max;
};

/// The tiles of an item, in a worker's scratch memory.
struct WinogradTiles {
  size_t first, count;
  size_t in_apart, out_apart;  ///< from frequency to frequency
  float *zeros, *in, *out;     ///< a pixel; [frequency, tile, channel]; [frequency, tile, column]
  unsigned char* are_exceptional;
};

/// The transforms of one instruction set.
struct WinogradTransforms {
  /// Input to tiles.in, and which tiles are exceptional.
  void (*input)(const WinogradWork&, const WinogradTiles&);
  /// tiles.out to some columns of the result, except those of exceptional tiles.
  void (*output)(const WinogradWork&, const WinogradTiles&, size_t column, size_t columns);
  /// The columns of exceptional tiles. weights: of all frequencies; centres: those of the kernels'
  /// middle points, which cannot be recovered from these without an error.
  void (*exceptional)(const WinogradWork&, const WinogradTiles&, size_t column, size_t columns,
                      const float* weights, const float* centres);
};
const WinogradTransforms& winograd_transforms(InstructionSet set);

}  // namespace executorch::kernels::engine
