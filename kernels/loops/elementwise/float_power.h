// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Powers of float32 computed in float64, without branches and calls, as float_math.h: rounded once,
// and correctly unless the power is within 1e-7 units in the last place of a tie.
#pragma once

#include <executorch/kernels/engine/simd/float_math.h>

#include <limits>

namespace executorch::kernels {
namespace {

/// log2 of a normal positive number, with a relative error of 5e-12. For x = m 2^e, 2^-1/2 <= m <
/// 2^1/2, log2(m) is s = (m - 1) / (m + 1) times a polynomial of its square.
ET_VECTOR_INLINE double accurate_log2(float x) {
  constexpr uint32_t kRootHalf = 0x3F3504F3;
  const auto above = static_cast<int32_t>(bits_as<uint32_t>(x) - kRootHalf);
  const double e = above >> 23;
  const double m = bits_as<float>((above & 0x007FFFFF) + static_cast<int32_t>(kRootHalf));
  const double s = (m - 1) / (m + 1), q = s * s;
  return e + s * ((((0.34071238999442877 * q + 0.4116737499374879) * q + 0.57708356622113832) * q +
                   0.96179667345084641) *
                      q +
                  2.8853900817899869);
}

/// 2^t for |t| <= 1000, with a relative error of 3e-9; exact for integers.
ET_VECTOR_INLINE double accurate_exp2(double t) {
  constexpr double kRoundUp64 = 6755399441055744.0;  // 1.5 * 2^52: as kRoundUp in float_math.h
  const double shifted = t + kRoundUp64, r = t - (shifted - kRoundUp64);
  const double p =
      (((((0.00015461444724808513 * r + 0.0013400428177711937) * r + 0.0096180566784320395) * r +
         0.055503272266698947) *
            r +
        0.24022650922289554) *
           r +
       0.69314720670283292) *
          r +
      1.0;
  return bits_as<double>(bits_as<uint64_t>(p) + (bits_as<uint64_t>(shifted) << 52));
}

/// True if float_power() can compute x^y: x is zero or a normal number, y is finite.
ET_VECTOR_INLINE bool has_power(float x, float y) {
  const float a = float_abs<float, int32_t>(x), b = float_abs<float, int32_t>(y);
  constexpr float kMax = std::numeric_limits<float>::max();
  return ((a == 0) | (a >= std::numeric_limits<float>::min())) & (a <= kMax) & (b <= kMax);
}
ET_VECTOR_INLINE float float_power(float x, float y) {
  const float a = float_abs<float, int32_t>(x);
  const double logarithm = a == 0 ? -1e300 : accurate_log2(a);
  const double t = logarithm * static_cast<double>(y);
  const double bounded = t < -200 ? -200.0 : t > 200 ? 200.0 : t;  // beyond: 0 or infinity
  const auto size = static_cast<float>(accurate_exp2(bounded));
  // A negative x has powers with integers; those with odd ones are negative.
  const float half = 0.5f * y;
  const bool is_integer = float_floor<float, int32_t>(y) == y;
  const bool is_odd = is_integer & (float_floor<float, int32_t>(half) != half);
  const float powered = is_odd ? float_sign<float, int32_t>(size, x) : size;
  return (x < 0) & !is_integer ? std::numeric_limits<float>::quiet_NaN() : powered;
}

}  // namespace
}  // namespace executorch::kernels
