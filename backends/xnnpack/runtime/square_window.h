// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A convolution of one image with a window of 3 x 3 neighbours, the commonest of those that
// plane_convolution.h is for: read where the image lies, four rows of outputs at once, so that
// each element is loaded once for up to three of them.
#pragma once

#include <stddef.h>

namespace executorch::backends::xnnpack {

struct SquareWindow {
  static constexpr size_t kTaps = 3;

  const float* weights;  ///< [row, column]
  float bias, min, max;
};

/// An image, the zeros before it, and where its outputs go.
struct SquareImage {
  const float* in;
  size_t in_rows, in_columns;
  size_t rows_before, columns_before;
  const float* zeros;  ///< a row of them
  float* out;
  size_t out_rows, out_columns;
};

void convolve(const SquareWindow& window, const SquareImage& image);

}  // namespace executorch::backends::xnnpack
