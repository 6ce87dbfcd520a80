// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// An int8 image under the windows of a convolution, as panels of a matrix. A column is a position
// of the result, a row k = (channel, tap); elements in the padding have the zero point's value,
// which represents 0.
#pragma once

#include <executorch/kernels/portable/conv/image_rows.h>
#include <executorch/kernels/quantized/int8/integer_loops.h>

namespace executorch::kernels::quantized {

/// Makes one panel after the other, in memory that it is given.
class WindowPanels {
 public:
  /// The size of the working memory for windows of `taps` taps in bytes.
  static int64_t room(const IntegerLoops& loops, int64_t taps) {
    return taps * (loops.columns + 1) * int64_t(sizeof(ptrdiff_t));
  }

  /// `image`: any channel of the image; all channels have the same layout.
  WindowPanels(const IntegerLoops& loops, const WindowLoops& windows, const Plane& image,
               int8_t padding, void* room);

  /// Finds the taps of at most `count` positions from `first` on; they are the same for all
  /// channels.
  void find(int64_t first, int64_t count);
  /// Writes the columns of these positions in the layout of IntegerLoops::tile.
  void fill(const char* image, int64_t channels, Factor* to) const;

 private:
  static constexpr ptrdiff_t kOutside = -1;
  using Place = int64_t[kSpatial];

  void find_tap(const portable::SpatialIndex& tap, const Place* origins, int64_t count,
                ptrdiff_t* offsets) const;
  const int8_t* row(const int8_t* channel, int64_t tap, int8_t* room) const;

  const IntegerLoops& loops_;
  const WindowLoops& windows_;
  const Plane& image_;
  int8_t padding_;
  int64_t taps_;
  bool flat_;           ///< one tap, and positions lie as in the result
  ptrdiff_t* offsets_;  ///< of each tap for each column, from the channel's start
  ptrdiff_t* starts_;   ///< of each tap: the first offset where columns are neighbors in memory
};

}  // namespace executorch::kernels::quantized
