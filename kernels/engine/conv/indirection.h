// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indirection buffers: for each tap of a window, pointers to the pixels that a tile's rows
// multiply.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv.h>

namespace executorch::kernels::engine {

/// An image whose pixels a buffer points at; taps in padding point at `zero`.
struct IndirectImage {
  const float* first = nullptr;
  size_t pixel_stride = 0;  ///< floats
  ImageSize size, output;
  const float* zero = nullptr;
};

/// Writes the pointers of `count` output points from `point` on (row-major in the output), grouped
/// by `group` points: for each group, tap after tap, `group` pointers. The last group is filled up
/// with `zero`. Returns the number of pointers: whole groups times taps.
size_t fill_indirection(const Conv2dParams& params, const IndirectImage& image, size_t point,
                        size_t count, size_t group, const float** to);

}  // namespace executorch::kernels::engine
