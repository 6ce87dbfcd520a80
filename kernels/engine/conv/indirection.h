// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indirection buffers: for each tap of a window, pointers to the pixels that a tile's rows
// multiply.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

/// An image whose pixels a buffer points at; taps in padding point at `zero`.
template <class T>
struct IndirectImage {
  const T* first;
  size_t pixel_stride;  ///< elements
  ImageSize size, output;
  const T* zero;
};

/// Writes the pointers of `count` output points from `point` on (row-major in the output), grouped
/// by `group` points: for each group, tap after tap, `group` pointers. The last group is filled up
/// with `zero`. Returns the number of pointers: whole groups times taps.
template <class T>
size_t fill_indirection(const Conv2dParams& params, const IndirectImage<T>& image, size_t point,
                        size_t count, size_t group, const T** to);

}  // namespace executorch::kernels::engine
