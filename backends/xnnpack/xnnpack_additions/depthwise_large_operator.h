// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How XNNPACK's convolutions come to depthwise_large.h. (Included by its convolution-nhwc.c.)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "depthwise_large.h"
#include "xnnpack/compute.h"
#include "xnnpack/config-types.h"
#include "xnnpack/operator.h"

// Sums of so many products of int8 are exact in float32, whose integers go to 2^24.
#define EXECUTORCH_MOST_POINTS_OF_INTEGERS ((1 << 24) / (128 * 128))

// With more results of a channel, XNNPACK's products have columns enough; with fewer channels,
// there are no vectors of them.
#define EXECUTORCH_MOST_REPEATS 8
#define EXECUTORCH_LEAST_CHANNELS 16

/// Whether a convolution is depthwise, and XNNPACK's kernels, the best of which is `theirs`, would
/// be slow: they have none for windows of so many points or for several results of a channel, and
/// those of float16 round after each product.
static inline bool executorch_wants_large_windows(enum xnn_operator_type type,
                                                  const struct xnn_dwconv_config* theirs,
                                                  size_t groups, size_t inputs, size_t outputs) {
  if (inputs != 1) return false;
  if (outputs == 1) return theirs == NULL || type == xnn_operator_type_convolution_nhwc_f16;
  return outputs <= EXECUTORCH_MOST_REPEATS && groups >= EXECUTORCH_LEAST_CHANNELS;
}

/// Describes the kernels for a convolution; NULL if it stays with XNNPACK's. Their parameters are
/// those of its products of matrices.
static inline const struct xnn_dwconv_config* executorch_find_large_windows(
    enum xnn_operator_type type, size_t points, const struct xnn_dwconv_config* theirs,
    size_t groups, size_t inputs, size_t outputs, struct xnn_dwconv_config* to) {
  if (!executorch_wants_large_windows(type, theirs, groups, inputs, outputs)) return NULL;
  enum executorch_windows_type numbers = executorch_floats;
  if (type == xnn_operator_type_convolution_nhwc_f16) {
    numbers = executorch_halves;
  } else if (type == xnn_operator_type_convolution_nhwc_qs8 ||
             type == xnn_operator_type_convolution_nhwc_qc8) {
    numbers = executorch_integers;
    if (points > EXECUTORCH_MOST_POINTS_OF_INTEGERS) return NULL;
  } else if (type != xnn_operator_type_convolution_nhwc_f32) {
    return NULL;
  }
  executorch_row_of_windows* const row =
      outputs == 1 ? executorch_find_row_of_single_windows(numbers, points)
                   : executorch_find_row_of_windows(numbers);
  if (row == NULL || points > UINT32_MAX) return NULL;
  *to = (struct xnn_dwconv_config){.minmax.unipass = (xnn_dwconv_unipass_ukernel_fn)row,
                                   .channel_tile = EXECUTORCH_PACKED_CHANNELS,
                                   .channel_subtile = EXECUTORCH_PACKED_CHANNELS,
                                   .channel_round = 1,
                                   .primary_tile = (uint32_t)points};
  return to;
}

/// Tells kernels what their signature does not.
static inline void executorch_tell_of_windows(struct xnn_operator* op, size_t points) {
  struct executorch_windows* const to = &op->context.dwconv.dwconv.params.executorch;
  to->points = (uint32_t)points;
  to->repeats = (uint32_t)op->group_output_channels;
}
