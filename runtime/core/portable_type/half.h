// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <limits>

#include <executorch/runtime/core/portable_type/bit_cast.h>
#include <executorch/runtime/core/portable_type/small_float.h>

// The type whose conversions the processor has. GCC 12 has _Float16 in C++ only on x86.
#if defined(__ARM_FP16_FORMAT_IEEE)
#define ET_NATIVE_HALF __fp16
#elif defined(__FLT16_MANT_DIG__) && defined(__F16C__)
#define ET_NATIVE_HALF _Float16
#endif

namespace executorch::runtime::etensor {

namespace internal {

/// IEEE binary16 to binary32; exact.
inline float half_bits_to_float(uint16_t half) {
#ifdef ET_NATIVE_HALF
  return static_cast<float>(runtime::internal::bit_cast<ET_NATIVE_HALF>(half));
#else
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const int32_t magnitude = static_cast<int32_t>(half & 0x7fffu) << 13;
  // Read as a float, the shifted bits lack 112 (= 127 - 15) in the exponent. Multiplying with 2^112
  // adds it, and turns subnormal halves into normal floats on the way.
  const float scaled = runtime::internal::bit_cast<float>(magnitude) *
                       runtime::internal::bit_cast<float>(0x77800000u);
  // Infinity and NaN keep the largest exponent.
  const uint32_t exponent = magnitude >= 0x0f800000 ? 0x7f800000u : 0u;
  const uint32_t bits = runtime::internal::bit_cast<uint32_t>(scaled) | exponent;
  return runtime::internal::bit_cast<float>(sign | bits);
#endif
}

/// IEEE binary32 to binary16, to nearest, ties to even.
inline uint16_t half_bits_from_float(float value) {
#ifdef ET_NATIVE_HALF
  return runtime::internal::bit_cast<uint16_t>(static_cast<ET_NATIVE_HALF>(value));
#else
  // Computes every case and selects one without a branch, so that the compiler vectorizes loops
  // over it.
  const uint32_t bits = runtime::internal::bit_cast<uint32_t>(value);
  const int32_t magnitude = static_cast<int32_t>(bits & 0x7fffffffu);
  const int32_t odd = (magnitude >> 13) & 1;
  int32_t half = (magnitude - 0x38000000 + 0xfff + odd) >> 13;
  // Below the smallest normal half, 2^-14: adding 0.5 leaves the multiples of 2^-24, the subnormal
  // halves, in the low bits of the sum; the addition rounds to nearest even.
  const float sum = runtime::internal::bit_cast<float>(magnitude) + 0.5f;
  const int32_t subnormal = runtime::internal::bit_cast<int32_t>(sum) - 0x3f000000;
  half = magnitude < 0x38800000 ? subnormal : half;
  half = magnitude >= 0x477ff000 ? 0x7c00 : half;            // rounds to 2^16 or more
  const int32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);  // quiet, with the payload's upper bits
  half = magnitude > 0x7f800000 ? nan : half;
  return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | static_cast<uint32_t>(half));
#endif
}

}  // namespace internal
#undef ET_NATIVE_HALF

/// IEEE binary16. Conversion from float rounds to nearest even; arithmetic is computed in float.
struct alignas(2) Half {
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  Half() = default;
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  /* implicit */ Half(float value) : x(internal::half_bits_from_float(value)) {}
  /* implicit */ operator float() const { return internal::half_bits_to_float(x); }

  uint16_t x;
};

ET_INTERNAL_SMALL_FLOAT_ARITHMETIC(Half)

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::Half;
}  // namespace torch::executor

template <>
class std::numeric_limits<executorch::runtime::etensor::Half>
    : public executorch::runtime::etensor::internal::SmallFloatLimits<
          executorch::runtime::etensor::Half> {
  using Half = executorch::runtime::etensor::Half;

 public:
  static constexpr bool is_iec559 = true;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;

  static constexpr Half min() { return of(0x0400); }
  static constexpr Half lowest() { return of(0xfbff); }
  static constexpr Half max() { return of(0x7bff); }
  static constexpr Half epsilon() { return of(0x1400); }
  static constexpr Half round_error() { return of(0x3800); }
  static constexpr Half infinity() { return of(0x7c00); }
  static constexpr Half quiet_NaN() { return of(0x7e00); }
  static constexpr Half signaling_NaN() { return of(0x7d00); }
};
