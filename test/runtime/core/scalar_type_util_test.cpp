// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <gtest/gtest.h>

#include <vector>

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using S = ScalarType;

namespace {

TEST(ScalarTypeTest, TheNumbersAreThoseOfTheFileFormat) {
  EXPECT_EQ(static_cast<int>(S::Byte), 0);
  EXPECT_EQ(static_cast<int>(S::Long), 4);
  EXPECT_EQ(static_cast<int>(S::Float), 6);
  EXPECT_EQ(static_cast<int>(S::Bool), 11);
  EXPECT_EQ(static_cast<int>(S::BFloat16), 15);
  EXPECT_EQ(static_cast<int>(S::Bits16), 22);
  EXPECT_EQ(static_cast<int>(S::Float8_e4m3fnuz), 26);
  EXPECT_EQ(static_cast<int>(S::UInt64), 29);
}

TEST(ScalarTypeTest, NamesAndSizes) {
  EXPECT_STREQ(toString(S::Float), "Float");
  EXPECT_STREQ(toString(S::Undefined), "Undefined");
  EXPECT_STREQ(toString(static_cast<S>(99)), "UNKNOWN_SCALAR");
  EXPECT_EQ(elementSize(S::ComplexDouble), 16u);
  EXPECT_EQ(elementSize(S::ComplexHalf), 4u);
  EXPECT_EQ(elementSize(S::Bool), 1u);
  EXPECT_EQ(elementSize(S::BFloat16), 2u);
  EXPECT_EQ(elementSize(S::Undefined), 0u);
  EXPECT_EQ(elementSize(static_cast<S>(-3)), 0u);
}

TEST(ScalarTypeTest, Categories) {
  EXPECT_TRUE(isIntegralType(S::UInt32, false));
  EXPECT_FALSE(isIntegralType(S::Bool, false));
  EXPECT_TRUE(isIntegralType(S::Bool, true));
  EXPECT_TRUE(isFloatingType(S::BFloat16));
  EXPECT_FALSE(isFloatingType(S::Float8_e5m2));
  EXPECT_TRUE(isComplexType(S::ComplexHalf));
  EXPECT_TRUE(isQIntType(S::QUInt2x4));
  EXPECT_TRUE(isBitsType(S::Bits8));
  EXPECT_FALSE(isRealHBF16Type(S::Bool));
  EXPECT_TRUE(isRealHBBF16Type(S::Bool));
  EXPECT_FALSE(isValid(S::Undefined));
  EXPECT_FALSE(isValid(static_cast<S>(-1)));
  EXPECT_FALSE(isIntegralType(static_cast<S>(-1), true));
}

TEST(ScalarTypeTest, CastsThatLoseTheKindAreNotAllowed) {
  EXPECT_TRUE(canCast(S::Int, S::Float));
  EXPECT_TRUE(canCast(S::Double, S::Half));
  EXPECT_TRUE(canCast(S::Long, S::Byte));
  EXPECT_TRUE(canCast(S::Bool, S::Int));
  EXPECT_FALSE(canCast(S::Float, S::Int));
  EXPECT_FALSE(canCast(S::Int, S::Bool));
  EXPECT_FALSE(canCast(S::ComplexFloat, S::Float));
}

// The table that torch.promote_types() prints for these types, in this order.
TEST(ScalarTypeTest, PromotesAsAten) {
  const std::vector<S> types = {
      S::Byte,   S::Char,        S::Short,        S::Int,           S::Long, S::Half,    S::Float,
      S::Double, S::ComplexHalf, S::ComplexFloat, S::ComplexDouble, S::Bool, S::BFloat16};
  const S u1 = S::Byte, i1 = S::Char, i2 = S::Short, i4 = S::Int, i8 = S::Long, f2 = S::Half,
          f4 = S::Float, f8 = S::Double, c2 = S::ComplexHalf, c4 = S::ComplexFloat,
          c8 = S::ComplexDouble, b1 = S::Bool, bf = S::BFloat16;
  const S expected[13][13] = {
      {u1, i2, i2, i4, i8, f2, f4, f8, c2, c4, c8, u1, bf},
      {i2, i1, i2, i4, i8, f2, f4, f8, c2, c4, c8, i1, bf},
      {i2, i2, i2, i4, i8, f2, f4, f8, c2, c4, c8, i2, bf},
      {i4, i4, i4, i4, i8, f2, f4, f8, c2, c4, c8, i4, bf},
      {i8, i8, i8, i8, i8, f2, f4, f8, c2, c4, c8, i8, bf},
      {f2, f2, f2, f2, f2, f2, f4, f8, c2, c4, c8, f2, f4},
      {f4, f4, f4, f4, f4, f4, f4, f8, c4, c4, c8, f4, f4},
      {f8, f8, f8, f8, f8, f8, f8, f8, c8, c8, c8, f8, f8},
      {c2, c2, c2, c2, c2, c2, c4, c8, c2, c4, c8, c2, c4},
      {c4, c4, c4, c4, c4, c4, c4, c8, c4, c4, c8, c4, c4},
      {c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8, c8},
      {u1, i1, i2, i4, i8, f2, f4, f8, c2, c4, c8, b1, bf},
      {bf, bf, bf, bf, bf, f4, f4, f8, c4, c4, c8, bf, bf},
  };
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t j = 0; j < types.size(); ++j) {
      EXPECT_EQ(promoteTypes(types[i], types[j]), expected[i][j])
          << toString(types[i]) << " with " << toString(types[j]);
    }
  }
}

TEST(ScalarTypeTest, PromotionThatAtenLacksIsUndefined) {
  EXPECT_EQ(promoteTypes(S::UInt16, S::UInt16), S::UInt16);
  EXPECT_EQ(promoteTypes(S::UInt16, S::Float), S::Float);
  EXPECT_EQ(promoteTypes(S::UInt16, S::Int), S::Undefined);
  EXPECT_EQ(promoteTypes(S::UInt16, S::Bool), S::Undefined);
  EXPECT_EQ(promoteTypes(S::UInt16, S::ComplexFloat), S::Undefined);
  EXPECT_EQ(promoteTypes(S::QInt8, S::Float), S::Undefined);
  EXPECT_EQ(promoteTypes(S::Half, S::Half, /*half_to_float=*/true), S::Float);
  EXPECT_EQ(promoteTypes(S::Byte, S::BFloat16, /*half_to_float=*/true), S::Float);
  EXPECT_EQ(promoteTypes(S::Byte, S::Byte, /*half_to_float=*/true), S::Byte);
}

TEST(ScalarTypeTest, DtypesArePromotedWhileCompiling) {
  static_assert(promoteTypes(S::Int, S::Half) == S::Half);
  static_assert(promoteTypes(S::BFloat16, S::ComplexHalf) == S::ComplexFloat);
  static_assert(toRealValueType(S::ComplexDouble) == S::Double);
  static_assert(toRealValueType(S::Short) == S::Short);
}

}  // namespace
