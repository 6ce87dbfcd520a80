// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The windows of depthwise convolutions whose sizes are known where code is compiled.
#pragma once

#include <stddef.h>

// Windows of kSize x kSize points, kStep apart, whose weights are packed for kPacked channels.
template <size_t kSize, size_t kStep, size_t kPacked>
struct Window {
  static constexpr size_t size = kSize, step = kStep, packed = kPacked;
  static constexpr size_t block = (1 + kSize * kSize) * kPacked;
  // What so many neighbours cover.
  static constexpr size_t columns_of(size_t points) { return (points - 1) * kStep + kSize; }
};
