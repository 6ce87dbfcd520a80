// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of 3 x 3 neighbours with fewer multiplications (used by XNNPACK's convolution, see
// cmake/xnnpack_winograd.py): Winograd's F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015, arXiv:1509.09308. Each 2 x 2 points of the result come of a
// tile of 4 x 4 points of the input in 16 multiplications a channel and output, not 36: those of
// the tile and of the weights, both transformed by additions. What is multiplied for all tiles are
// 16 matrix products, with XNNPACK's own kernels; blocks of tiles are such that they stay in the
// second cache.
//
// Sums have another order than one product's, so bits differ; errors are no larger, as each sum is
// as long as there are channels, not nine times that. But a number of a tile goes into all that
// comes of it, and leaves it again by subtraction: where one is not finite, or so large that
// others would be lost or a sum could overflow, the tile is computed directly. The weights for that
// are had back from the transformed ones, with the right sign and zeros, and an error of a rounding
// of the kernel's largest. Weights that are not finite or large are not used so at all.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xnnpack.h"
#include "xnnpack/microfnptr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct xnn_node;
struct xnn_value;

/// Of a convolution that is computed so: beside XNNPACK's own flags.
#define EXECUTORCH_FLAG_WINOGRAD UINT32_C(0x40000000)
/// Transformed points of a tile and of a kernel: frequency 4 y + x.
#define EXECUTORCH_FREQUENCIES 16
/// A constant at this frequency is the same constant at each point of the result: a bias.
#define EXECUTORCH_CONSTANT 5
/// Numbers of the input above 2^41 in magnitude make a tile exceptional, those above 2^36 may.
#define EXECUTORCH_LARGEST_FACTOR 0x1p88f

/// What a convolution's tasks know of it. Sizes and strides are counts of floats.
struct executorch_winograd {
  const float* input;
  float* output;
  const float* added;  ///< lies as the output; NULL for none
  float* scratch;
  const float* weights;
  size_t height, width, out_height, out_width;
  size_t in_stride, out_stride;  ///< from pixel to pixel
  size_t above, left;            ///< padding
  size_t channels, outputs;
  size_t tiles, tiles_across, tiles_of_image;
  size_t block, rows, panel, panels_at_once;  ///< tiles; of a product's tile, its columns; panels
  size_t scratch_of_thread;
  xnn_gemm_ukernel_fn product;
  float least, most;
};

/// The tiles of a task, as its scratch memory has them.
struct executorch_tiles {
  size_t first, count;
  size_t in_apart, out_apart;  ///< from frequency to frequency
  float *zeros, *in, *out;     ///< a pixel; [frequency, tile, channel]; [frequency, tile, column]
  unsigned char* are_exceptional;
};

/// Packed weights: for each panel of outputs and each frequency biases and [channel, output], as
/// products have them; then for each panel [channel, output] of the kernels' middle points.
static inline size_t executorch_floats_of_frequency(size_t channels, size_t panel) {
  return (1 + channels) * panel;
}
static inline size_t executorch_floats_of_panel(size_t channels, size_t panel) {
  return EXECUTORCH_FREQUENCIES * executorch_floats_of_frequency(channels, panel);
}
/// kernel: [output, point, channel], at least 16 channels; bias may be NULL. `packed` is zeros.
void executorch_pack_winograd(const float* kernel, const float* bias, size_t channels,
                              size_t outputs, size_t panel, float* packed);

/// The flag if a node should be computed so: it gains, and this processor can.
uint32_t executorch_winograd_flag(const struct xnn_node* node, const struct xnn_value* input);
/// Packs weights; takes the flag back where they cannot be used so.
enum xnn_status executorch_create_winograd(xnn_operator_t convolution, uint32_t* flags,
                                           size_t channels, size_t outputs, const float* kernel,
                                           const float* bias);
enum xnn_status executorch_reshape_winograd(xnn_operator_t convolution, size_t* scratch_bytes,
                                            size_t* alignment, size_t threads);
enum xnn_status executorch_setup_winograd(xnn_operator_t convolution, void* scratch);

/// Input to tiles->in, and which tiles are exceptional.
void executorch_transform_input(const struct executorch_winograd* op,
                                const struct executorch_tiles* tiles);
/// tiles->out to some columns of the result, but for those of exceptional tiles.
void executorch_transform_output(const struct executorch_winograd* op,
                                 const struct executorch_tiles* tiles, size_t column,
                                 size_t columns);
/// The columns of exceptional tiles. weights: of all frequencies; centres: those of the kernels'
/// middle points, which cannot be had from these without an error.
void executorch_compute_exceptional(const struct executorch_winograd* op,
                                    const struct executorch_tiles* tiles, size_t column,
                                    size_t columns, const float* weights, const float* centres);

#ifdef __cplusplus
}
#endif
