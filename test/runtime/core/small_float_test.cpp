// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <gtest/gtest.h>
#include <math.h>

using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::Half;

namespace {

/// The value that the bits stand for, computed from the definition.
template <int kExponentBits, int kMantissaBits>
double decode(uint16_t bits) {
  const int mantissa = bits & ((1 << kMantissaBits) - 1);
  const int exponent = (bits >> kMantissaBits) & ((1 << kExponentBits) - 1);
  const int bias = (1 << (kExponentBits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << kExponentBits) - 1) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  return exponent == 0
             ? sign * ldexp(mantissa, 1 - bias - kMantissaBits)
             : sign * ldexp(mantissa + (1 << kMantissaBits), exponent - bias - kMantissaBits);
}

template <typename T>
struct Format;
template <>
struct Format<Half> {
  static double value(uint16_t bits) { return decode<5, 10>(bits); }
  static constexpr uint16_t kInfinity = 0x7c00;
};
template <>
struct Format<BFloat16> {
  static double value(uint16_t bits) { return decode<8, 7>(bits); }
  static constexpr uint16_t kInfinity = 0x7f80;
};

template <typename T>
class SmallFloatTest : public ::testing::Test {};
using SmallFloats = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(SmallFloatTest, SmallFloats);

TYPED_TEST(SmallFloatTest, EveryBitPatternConvertsToFloatAndBack) {
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const float value = TypeParam(bits, TypeParam::from_bits());
    const double expected = Format<TypeParam>::value(bits);
    if (isnan(expected)) {
      ASSERT_TRUE(isnan(value)) << i;
      ASSERT_TRUE(isnan(static_cast<float>(TypeParam(value)))) << i;
    } else {
      ASSERT_EQ(value, expected) << i;
      ASSERT_EQ(TypeParam(value).x, bits) << i;
    }
  }
}

TYPED_TEST(SmallFloatTest, HalfwayBetweenNeighborsRoundsToEven) {
  for (uint16_t bits = 0; bits + 1 < Format<TypeParam>::kInfinity; ++bits) {
    const double low = Format<TypeParam>::value(bits);
    const double high = Format<TypeParam>::value(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const uint16_t even = static_cast<uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(TypeParam(middle).x, even) << bits;
    ASSERT_EQ(TypeParam(-middle).x, even | 0x8000) << bits;
    ASSERT_EQ(TypeParam(nextafterf(middle, -1)).x, bits) << bits;
    ASSERT_EQ(TypeParam(nextafterf(middle, INFINITY)).x, bits + 1) << bits;
  }
}

TYPED_TEST(SmallFloatTest, LimitsAreThoseOfTheFormat) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_EQ(Limits::infinity().x, Format<TypeParam>::kInfinity);
  EXPECT_EQ(Limits::max().x, Format<TypeParam>::kInfinity - 1);
  EXPECT_EQ(static_cast<float>(Limits::lowest()), -static_cast<float>(Limits::max()));
  EXPECT_EQ(static_cast<double>(Limits::epsilon()), ldexp(1, 1 - Limits::digits));
  EXPECT_EQ(static_cast<double>(Limits::min()), ldexp(1, Limits::min_exponent - 1));
  EXPECT_TRUE(isnan(static_cast<float>(Limits::quiet_NaN())));
  // Numbers above the largest value become the largest value if the next power of two is farther
  // away.
  const double step = ldexp(1, Limits::max_exponent - Limits::digits);
  const double max = static_cast<double>(static_cast<float>(Limits::max()));
  EXPECT_EQ(TypeParam(nextafterf(static_cast<float>(max + step / 2), 0)).x,
            Format<TypeParam>::kInfinity - 1);
  EXPECT_EQ(TypeParam(static_cast<float>(max + step / 2)).x, Format<TypeParam>::kInfinity);
}

TYPED_TEST(SmallFloatTest, ArithmeticRoundsOnce) {
  const TypeParam a(1.5f);
  const TypeParam b(2.0f);
  EXPECT_EQ(static_cast<float>(a + b), 3.5f);
  EXPECT_EQ(static_cast<float>(a - b), -0.5f);
  EXPECT_EQ(static_cast<float>(a * b), 3.0f);
  EXPECT_EQ(static_cast<float>(a / b), 0.75f);
  EXPECT_EQ(static_cast<float>(-a), -1.5f);
  EXPECT_EQ(a + 0.25f, 1.75f);
  EXPECT_EQ(a + 1, TypeParam(2.5f));
  EXPECT_TRUE(a < b);
  TypeParam sum(1.0f);
  sum += a;
  EXPECT_EQ(sum, TypeParam(2.5f));
}

}  // namespace
