// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolution of int8 for processors that sum products in pairs. A channel is copied with
// its padding, and its columns are grouped by index modulo stride, so that each tap reads adjacent
// columns for a row of outputs.
#pragma once

#include <executorch/kernels/quantized/conv/layer.h>

namespace executorch::kernels::quantized {

class DepthwisePlane {
 public:
  /// True if the convolution is a two-dimensional depthwise one.
  static bool supports(const portable::ConvGeometry& geometry);

  explicit DepthwisePlane(const IntegerLoops& loops, const FusedLayer& layer);
  /// Bytes that run() needs.
  int64_t room() const { return (plane_ + taps_) * int64_t(sizeof(Factor)) + sums_ + taps_ * 4; }
  /// The output channels of the input channels [begin, end).
  void run(const Plane& image, const Plane& out, int64_t begin, int64_t end, char* room) const;

 private:
  void load(const Plane& image, const char* channel, Factor* plane) const;
  void load_row(const int8_t* row, int64_t stride, Factor* to) const;
  void find_taps(int32_t* offsets) const;

  const IntegerLoops& loops_;
  const FusedLayer& layer_;
  int64_t rows_;
  int64_t phase_, row_;   ///< columns of one remainder modulo the stride, and of all
  int64_t taps_;          ///< rounded up to pairs
  int64_t plane_, sums_;  ///< factors of a plane, bytes of a row's sums
};

}  // namespace executorch::kernels::quantized
