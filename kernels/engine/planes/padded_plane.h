// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A plane of an image with its padding around it and, for strides s, its rows and columns dealt to
// s times s smaller planes. Whatever the stride, one tap then meets neighboring outputs at
// neighboring places: all outputs are one long row (with some unused columns between the image's
// rows), and every tap is an offset:
//
//   stride 1, width 3, padding 1:   . a b c . | . d e f . | ...     tap (y, x) = offset y * 5 + x
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

class PaddedPlane {
 public:
  /// Loops may read up to `slack` floats beyond the last place that a tap of an output has.
  PaddedPlane(const Conv2dParams& params, ImageSize input, size_t slack);

  ImageSize output() const { return output_; }
  /// Floats of a plane, whole cache lines.
  size_t floats() const { return floats_; }
  /// Places of outputs: output (y, x) is at y * pitch() + x, and all are below length().
  size_t pitch() const { return columns_.length; }
  size_t length() const { return (output_.height - 1) * pitch() + output_.width; }
  /// The place of tap `index` (row-major in the window) of output (0, 0).
  size_t tap(size_t index) const;
  /// True if the plane, slack aside, is the image itself.
  bool is_image() const { return is_image_; }

  /// Copies an image. The padding must be zeros already; it stays so.
  void fill(const float* image, float* plane) const;
  /// Copies `count` places, from place `first` on, to the plane `out`, without the unused columns:
  /// out(y, x) = place y * pitch() + x.
  void collect(const float* places, size_t first, size_t count, float* out) const;

 private:
  /// One dimension: `extent` positions dealt to `phases` parts of `length`.
  struct Dealt {
    size_t extent, phases, length;
  };
  static Dealt deal(size_t outputs, size_t kernel, size_t stride, size_t dilation);
  size_t place(size_t y, size_t x) const;

  Conv2dParams params_;
  ImageSize input_, output_;
  Dealt rows_ = {}, columns_ = {};
  size_t floats_ = 0;
  bool is_image_ = false;
};

}  // namespace executorch::kernels::engine
