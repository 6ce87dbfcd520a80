// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions of float32 images as CHW planes, each with a window of its own: those of
// conv.h with groups of one input and one output, not transposed. For programs whose convolution
// stands between other operators on NCHW: no layout is changed. Vectors hold neighboring points of
// a row.
//
// Planes are contiguous and follow each other: image, then channel. `out` must not overlap `in`.
// NaN and infinities follow IEEE arithmetic; padding is a product with zero.
#pragma once

#include <cmath>
#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

/// The scratch memory has planes_scratch_bytes().
struct PlanesCall : NchwCall {
  float clamp_min = -INFINITY, clamp_max = INFINITY;
};

/// True if measurements predict that planes are faster than Conv2d with its layout changes, for
/// images of this size.
bool planes_are_faster(const Conv2dParams& params, ImageSize input);

size_t planes_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads);
void convolve_planes(const Conv2dParams& params, const PlanesCall& call, Threads& threads,
                     InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
