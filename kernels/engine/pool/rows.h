// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Arguments of the pooling kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine {

/// Maximum number of taps within the image that are gathered at once.
inline constexpr size_t kMaxTaps = 64;

/// Neighboring points whose windows have the same taps, each `in_step` floats further than the
/// last point's. Windows of more than kMaxTaps taps take several calls: each but the first
/// continues from `out`.
struct PoolPoints {
  const float* taps[kMaxTaps];
  size_t tap_count, channels, points;
  size_t in_step, out_step;
  float* out;
  bool continues, is_last;
  float divisor;
  float clamp_min, clamp_max;
  /// For maxima with places: the place of each tap of the first point, the place of a window
  /// without taps, and the distance between neighboring points.
  int32_t tap_places[kMaxTaps], empty_place, place_step;
  int64_t* places;
};
using PoolFunction = void (*)(const PoolPoints&);

/// Channels [first, end) of neighboring rows of `channels` floats.
struct PointSum {
  const float* in;
  size_t points, channels, first, end;
  float* out;
  float scale, clamp_min, clamp_max;
};
using PointSumFunction = void (*)(const PointSum&);

}  // namespace executorch::kernels::engine
