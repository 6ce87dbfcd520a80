// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rounds numbers to integers. In an unnamed namespace, because files that are compiled for another
// instruction set need their own copy.
#pragma once

#include <executorch/kernels/quantized/int8/integer_loops.h>

#include <cstring>

namespace executorch::kernels::quantized {
namespace {

/// Rounds a number (already divided by the scale) to the nearest integer, ties to even, adds the
/// zero point and clamps to the limits. NaN gives the lower limit.
inline int8_t rounded(float number, const Limits& limits) {
  number = number > limits.quant_min ? number : limits.quant_min;
  number = number < limits.quant_max ? number : limits.quant_max;
  // Numbers near 1.5 * 2^23 have no fraction: adding it rounds as IEEE 754 does.
  constexpr float kNoFraction = 12582912.0f;
  const float shifted = number + kNoFraction;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  return static_cast<int8_t>(bits - 0x4B400000 + limits.zero_point);
}

}  // namespace
}  // namespace executorch::kernels::quantized
