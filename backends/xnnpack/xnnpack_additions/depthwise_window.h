// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The windows of depthwise convolutions whose sizes are known where code is compiled.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "float_lanes.h"

// Windows of kSize x kSize points, kStep apart, whose weights are packed for kPacked channels.
template <size_t kSize, size_t kStep, size_t kPacked>
struct Window {
  static constexpr size_t size = kSize, step = kStep, packed = kPacked;
  static constexpr size_t block = (1 + kSize * kSize) * kPacked;
  // What so many neighbours cover.
  static constexpr size_t columns_of(size_t points) { return (points - 1) * kStep + kSize; }
};

// Where a point lies that XNNPACK's table points at; zeros stay where they are.
INLINE const float* place_of_point(const float* pointer, const float* zero, size_t offset) {
  const uintptr_t moved = pointer == zero ? 0 : offset;
  return reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(pointer) + moved);
}

// Stores a sum within its limits; NaN stays.
template <size_t kLanes>
INLINE void store_limited(float* to, const typename executorch_lanes::Of<kLanes>::Vector& sum,
                          const typename executorch_lanes::Of<kLanes>::Vector& least,
                          const typename executorch_lanes::Of<kLanes>::Vector& most) {
  typename executorch_lanes::Of<kLanes>::Vector v = sum < least ? least : sum;
  v = v > most ? most : v;
  executorch_lanes::at<kLanes>(to) = v;
}
