// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions with windows of more than 25 points, as ConvNeXt has them. XNNPACK's
// kernels end there: beyond, it computes such a layer as so many products of matrices as it has
// channels, each with one column, at a fortieth of the processor's speed; and so it does where a
// channel has several results. Here a vector is of channels, and a few points of the image are
// computed at once, for any number of points of a window.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Channels that weights are packed for, as XNNPACK does: their biases, their weights, point after
/// point, and, of integers, their scales.
#define EXECUTORCH_PACKED_CHANNELS 16

/// What these kernels are given as parameters.
struct executorch_windows {
  char limits[16];   ///< XNNPACK's parameters, and what activated_results.h adds
  uint32_t points;   ///< of a window
  uint32_t repeats;  ///< channels of the result for each one of the image
};

/// The signature of XNNPACK's depthwise microkernels (depthwise_rows.h). The channels are those of
/// the result; `input` points at the windows' points, and at nothing behind them.
typedef void executorch_row_of_windows(size_t channels, size_t width, const void** input,
                                       const void* weights, void* output, intptr_t input_stride,
                                       size_t increment, size_t input_offset, const void* zero,
                                       const void* windows);

/// float16 is summed in float32. Integers are int8 with a scale for each channel.
enum executorch_windows_type { executorch_floats, executorch_halves, executorch_integers };

/// The kernel for this processor; NULL where XNNPACK's convolution of the type does not run.
executorch_row_of_windows* executorch_find_row_of_windows(enum executorch_windows_type type);
/// The same for so many points, where each channel has one result.
executorch_row_of_windows* executorch_find_row_of_single_windows(enum executorch_windows_type type,
                                                                 size_t points);

#ifdef __cplusplus
}
#endif
