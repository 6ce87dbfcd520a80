// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <limits>

#include <executorch/runtime/core/portable_type/bit_cast.h>
#include <executorch/runtime/core/portable_type/small_float.h>

namespace executorch::runtime::etensor {

namespace internal {

inline float bfloat16_bits_to_float(uint16_t bits) {
  return runtime::internal::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even.
inline uint16_t bfloat16_bits_from_float(float value) {
  const uint32_t bits = runtime::internal::bit_cast<uint32_t>(value);
  const uint32_t odd = (bits >> 16) & 1u;
  const uint16_t rounded = static_cast<uint16_t>((bits + 0x7fffu + odd) >> 16);
  return value != value ? uint16_t{0x7fc0} : rounded;
}

}  // namespace internal

/// The upper half of an IEEE binary32. Conversion from float rounds to nearest even; arithmetic is
/// computed in float.
struct alignas(2) BFloat16 {
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  BFloat16() = default;
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  /* implicit */ BFloat16(float value) : x(internal::bfloat16_bits_from_float(value)) {}
  /* implicit */ operator float() const { return internal::bfloat16_bits_to_float(x); }

  uint16_t x;
};

ET_INTERNAL_SMALL_FLOAT_ARITHMETIC(BFloat16)

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::BFloat16;
}  // namespace torch::executor

template <>
class std::numeric_limits<executorch::runtime::etensor::BFloat16>
    : public executorch::runtime::etensor::internal::SmallFloatLimits<
          executorch::runtime::etensor::BFloat16> {
  using BFloat16 = executorch::runtime::etensor::BFloat16;

 public:
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;

  static constexpr BFloat16 min() { return of(0x0080); }
  static constexpr BFloat16 lowest() { return of(0xff7f); }
  static constexpr BFloat16 max() { return of(0x7f7f); }
  static constexpr BFloat16 epsilon() { return of(0x3c00); }
  static constexpr BFloat16 round_error() { return of(0x3f00); }
  static constexpr BFloat16 infinity() { return of(0x7f80); }
  static constexpr BFloat16 quiet_NaN() { return of(0x7fc0); }
  static constexpr BFloat16 signaling_NaN() { return of(0x7f81); }
};
