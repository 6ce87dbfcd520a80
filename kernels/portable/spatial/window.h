// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Index arithmetic of sliding windows, for convolution and pooling.
#pragma once

#include <cstdint>

namespace executorch::kernels {

/// Spatial dimensions are always three, depth, height and width; missing ones have size 1.
inline constexpr int kSpatial = 3;

/// One spatial dimension of a loop over outputs and taps: output q (memory index out_first + q *
/// out_step) and tap j (kernel index tap_first + j * tap_step) read the input at
/// origin + q * step + j * tap_shift, which may be in the padding.
struct WindowAxis {
  int64_t in;
  int64_t outputs, out_first, out_step;
  int64_t taps, tap_first, tap_step;
  int64_t origin, step, tap_shift;

  int64_t input(int64_t q, int64_t j) const { return origin + q * step + j * tap_shift; }
  bool inside(int64_t position) const { return position >= 0 && position < in; }
  /// The outputs [first, last) whose tap is in the input and not in its padding.
  void outputs_inside(int64_t tap, int64_t* first, int64_t* last) const;
  /// A range of taps outside which all taps are in the padding, for the outputs [begin, end). All
  /// taps if they are no more than the inputs.
  void taps_inside(int64_t begin, int64_t end, int64_t* first, int64_t* last) const;
};

/// The three nested loops.
struct WindowLoops {
  WindowAxis axis[kSpatial];
  /// The axes are height, width and channels (Images::take_channels_as_rows).
  bool has_rows_of_channels = false;

  /// The same for height, width and `channels` channels; the depth must be 1.
  void take_channels_as_rows(int64_t channels);
  /// Rows of outputs, through all depths.
  int64_t rows() const { return axis[0].outputs * axis[1].outputs; }
  int64_t outputs() const { return axis[0].outputs * axis[1].outputs * axis[2].outputs; }
  int64_t taps() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  /// True if both products are below 2^31, as for all tensors that fit in memory. Each factor must
  /// be below it.
  bool fit() const;
};

}  // namespace executorch::kernels
