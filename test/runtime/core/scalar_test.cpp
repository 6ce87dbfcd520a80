// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/portable_type/scalar.h>
#include <gtest/gtest.h>
#include <math.h>

#include <limits>

using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::Half;
using executorch::runtime::etensor::Scalar;

namespace {

TEST(ScalarTest, KnowsItsKind) {
  EXPECT_TRUE(Scalar(3).isIntegral(false));
  EXPECT_TRUE(Scalar(3.0).isFloatingPoint());
  EXPECT_TRUE(Scalar(true).isBoolean());
  EXPECT_FALSE(Scalar(true).isIntegral(false));
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_EQ(Scalar().to<int64_t>(), 0);
  EXPECT_EQ(Scalar(uint8_t{200}).to<int64_t>(), 200);
  EXPECT_EQ(Scalar(true).to<int64_t>(), 1);
  EXPECT_EQ(Scalar(2.5).to<double>(), 2.5);
  EXPECT_EQ(Scalar(Half(2.5f)).to<double>(), 2.5);
  EXPECT_EQ(Scalar(BFloat16(2.5f)).to<double>(), 2.5);
}

TEST(ScalarTest, ConvertsWithoutUndefinedBehaviour) {
  EXPECT_EQ(Scalar(2.9).as<int32_t>(), 2);
  EXPECT_EQ(Scalar(-2.9).as<int32_t>(), -2);
  EXPECT_EQ(Scalar(1e30).as<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Scalar(-1e30).as<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Scalar(9223372036854775808.0).as<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Scalar(static_cast<double>(NAN)).as<int8_t>(), 0);
  EXPECT_EQ(Scalar(-1.0).as<uint8_t>(), 0);
  EXPECT_EQ(Scalar(255.0).as<uint8_t>(), 255);
  EXPECT_EQ(Scalar(0.5).as<bool>(), true);
  EXPECT_EQ(Scalar(2).as<bool>(), true);
  EXPECT_EQ(Scalar(3).as<float>(), 3.0f);
  EXPECT_EQ(static_cast<float>(Scalar(3).as<Half>()), 3.0f);
}

TEST(ScalarDeathTest, ReadingAnotherKindEndsTheProgram) {
  EXPECT_DEATH(Scalar(3).to<double>(), "not a double");
  EXPECT_DEATH(Scalar(3.0).to<int64_t>(), "neither");
  EXPECT_DEATH(Scalar(3).to<bool>(), "not a bool");
}

}  // namespace
