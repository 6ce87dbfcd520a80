// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Element types and tensors, as users' kernels query them.
#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/test/utils/DeathTest.h>

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::isFloat8Type;
using executorch::runtime::isSignedType;
using executorch::runtime::toComplexType;
using executorch::runtime::toQIntType;
using executorch::runtime::toRealValueType;
using executorch::runtime::toUnderlying;
using torch::executor::Error;
using torch::executor::testing::TensorFactory;

template <typename A, typename B>
void expect_same_promotion() {
  using torch::executor::CppTypeToScalarType;
  constexpr ScalarType a = CppTypeToScalarType<A>::value;
  constexpr ScalarType b = CppTypeToScalarType<B>::value;
  using Plain = typename torch::executor::promote_types<A, B>::type;
  using Wide = typename torch::executor::promote_types<A, B, /*half_to_float=*/true>::type;
  EXPECT_EQ(CppTypeToScalarType<Plain>::value, torch::executor::promoteTypes(a, b));
  EXPECT_EQ(CppTypeToScalarType<Wide>::value, torch::executor::promoteTypes(a, b, true));
  EXPECT_EQ((torch::executor::can_cast<A, B>::value), torch::executor::canCast(a, b));
}

template <typename A>
void expect_same_promotions() {
#define CHECK_WITH(ctype, dtype) expect_same_promotion<A, ctype>();
  ET_FORALL_REALHBBF16_TYPES(CHECK_WITH)
  ET_FORALL_COMPLEXH_TYPES(CHECK_WITH)
#undef CHECK_WITH
}

TEST(ElementTypesTest, PromotionIsTheSameAtCompileTimeAndAtRunTime) {
#define CHECK(ctype, dtype) expect_same_promotions<ctype>();
  ET_FORALL_REALHBBF16_TYPES(CHECK)
  ET_FORALL_COMPLEXH_TYPES(CHECK)
#undef CHECK
}

TEST(ElementTypesTest, ComplexAndRealTypesCorrespond) {
  EXPECT_EQ(toComplexType(ScalarType::Half), ScalarType::ComplexHalf);
  EXPECT_EQ(toComplexType(ScalarType::BFloat16), ScalarType::ComplexFloat);
  EXPECT_EQ(toComplexType(ScalarType::Double), ScalarType::ComplexDouble);
  EXPECT_EQ(toComplexType(ScalarType::ComplexFloat), ScalarType::ComplexFloat);
  EXPECT_EQ(toRealValueType(ScalarType::ComplexHalf), ScalarType::Half);
  EXPECT_EQ(toRealValueType(ScalarType::Int), ScalarType::Int);
  ET_EXPECT_DEATH(toComplexType(ScalarType::Int), "has no complex type");
}

TEST(ElementTypesTest, QuantizedTypesHaveTheTypesThatStoreThem) {
  EXPECT_EQ(toQIntType(ScalarType::Byte), ScalarType::QUInt8);
  EXPECT_EQ(toQIntType(ScalarType::Float), ScalarType::Float);
  EXPECT_EQ(toUnderlying(ScalarType::QInt32), ScalarType::Int);
  EXPECT_EQ(toUnderlying(ScalarType::QUInt4x2), ScalarType::Byte);
  EXPECT_EQ(toUnderlying(ScalarType::QInt8), ScalarType::Char);
  EXPECT_TRUE(executorch::runtime::isUnderlying(ScalarType::Byte, ScalarType::QUInt8));
  EXPECT_TRUE(isSignedType(ScalarType::Char));
  EXPECT_FALSE(isSignedType(ScalarType::UInt16));
  EXPECT_TRUE(isFloat8Type(ScalarType::Float8_e5m2));
  EXPECT_TRUE(torch::executor::is_complex_type<executorch::aten::complex<float>>::value);
  EXPECT_TRUE((torch::executor::is_integral_type<bool, true>::value));
}

TEST(ElementTypesTest, ListsOfTypesTakeFurtherArguments) {
  int sizes = 0;
#define ADD_SIZE(factor, ctype, dtype) sizes += factor * static_cast<int>(sizeof(ctype));
  ET_FORALL_REAL_TYPES_AND_WITH(Bool, 2, ADD_SIZE)
#undef ADD_SIZE
  EXPECT_EQ(sizes, 2 * (1 + 1 + 2 + 4 + 8 + 4 + 8 + 1));
  int types = 0;
#define COUNT(a, b, ctype, dtype) types += (a) + (b);
  ET_FORALL_REALHBBF16_TYPES_WITH2(1, 0, COUNT)
#undef COUNT
  EXPECT_EQ(types, 10);
}

TEST(TensorsTest, AScalarIsExtractedFromATensorOfItsKind) {
  TensorFactory<ScalarType::Long> longs;
  TensorFactory<ScalarType::Double> doubles;
  TensorFactory<ScalarType::Bool> bools;
  int32_t number = 0;
  ET_EXTRACT_SCALAR_TENSOR(longs.make({1}, {-7}), number);
  EXPECT_EQ(number, -7);
  uint8_t byte = 0;
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(longs.make({}, {-1}), &byte));
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(longs.make({}, {256}), &byte));
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(doubles.make({}, {1}), &byte));
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(longs.make({2}, {1, 2}), &byte));
  float real = 0;
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(doubles.make({}, {1e300}), &real));
  EXPECT_TRUE(torch::executor::extract_scalar_tensor(longs.make({}, {3}), &real));
  EXPECT_EQ(real, 3.0f);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(torch::executor::extract_scalar_tensor(doubles.make({}, {infinity}), &real));
  bool flag = false;
  EXPECT_TRUE(torch::executor::extract_scalar_tensor(bools.make({}, {true}), &flag));
  EXPECT_TRUE(flag);
  EXPECT_FALSE(torch::executor::extract_scalar_tensor(longs.make({}, {1}), &flag));
}

TEST(TensorsTest, CoordinatesAndIndicesAreInverse) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor tensor = tf.zeros({2, 3, 4});
  size_t memo[torch::executor::kTensorDimensionLimit];
  executorch::runtime::memoizeTrailingDims(tensor, memo);
  for (size_t index = 0; index < 24; ++index) {
    size_t coordinate[3];
    torch::executor::indexToCoordinate(tensor, index, coordinate);
    EXPECT_EQ(torch::executor::coordinateToIndex(tensor, coordinate), index);
    EXPECT_EQ(executorch::runtime::coordinateToIndexWithTrailingDimsMemo(tensor, coordinate, memo),
              index);
  }
  EXPECT_EQ(torch::executor::getLeadingDims(tensor, 2), 6u);
  EXPECT_EQ(torch::executor::getTrailingDims(tensor, 0), 12u);
}

TEST(TensorsTest, PredicatesSayWhatTensorsAre) {
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Int> ints;
  const Tensor a = tf.zeros({2, 0});
  EXPECT_TRUE(torch::executor::tensor_is_real_type(a));
  EXPECT_TRUE(torch::executor::tensor_is_floating_type(a));
  EXPECT_FALSE(torch::executor::tensor_is_integral_type(a));
  EXPECT_FALSE(torch::executor::tensor_is_complex_type(a));
  EXPECT_FALSE(torch::executor::tensor_is_bool_type(a));
  EXPECT_FALSE(torch::executor::tensor_can_cast_to(a, ScalarType::Int));
  EXPECT_TRUE(executorch::runtime::tensor_is_type(a, ScalarType::Half, ScalarType::Float));
  EXPECT_FALSE(
      executorch::runtime::tensor_is_type(a, ScalarType::Int, ScalarType::Long, ScalarType::Half));
  EXPECT_TRUE(torch::executor::tensor_has_non_empty_dim(a, -2));
  EXPECT_FALSE(torch::executor::tensor_has_non_empty_dim(a, 1));
  EXPECT_TRUE(torch::executor::tensor_dim_has_index(a, 0, -2));
  EXPECT_FALSE(torch::executor::tensor_dim_has_index(a, 0, 2));
  const executorch::aten::SizesType sizes[] = {2, 0};
  EXPECT_TRUE(torch::executor::tensor_has_expected_size(a, {sizes, 2}));
  // Tensors of one element have the same shape.
  EXPECT_TRUE(torch::executor::tensors_have_same_shape(tf.ones({1}), tf.ones({1, 1})));
  EXPECT_FALSE(torch::executor::tensors_have_same_shape_and_dtype(tf.ones({2}), ints.ones({2})));
}

TEST(TensorsTest, ChecksEndTheProgram) {
  TensorFactory<ScalarType::Float> tf;
  const Tensor a = tf.zeros({2, 3});
  const Tensor b = tf.zeros({3, 2});
  ET_CHECK_SAME_SHAPE_AND_DTYPE2(a, a);
  ET_CHECK_SAME_STRIDES3(a, a, a);
  ET_CHECK_CONTIGUOUS(a);
  ET_CHECK_DEFAULT_OR_CHANNELSLAST_DIMORDER(a);
  ET_CHECK_VALID_DIM(-2, a.dim());
  ET_CHECK_NON_ZERO_DIM_SIZE(0, a);
  EXPECT_EQ(ET_NORMALIZE_IX(-1, 3), 2);
  ET_EXPECT_DEATH(ET_CHECK_SAME_SHAPE2(a, b), "Tensors do not match");
  ET_EXPECT_DEATH(ET_CHECK_VALID_IX(3, 3), "out of range");
}

TEST(TensorsTest, SizesOfAnyIntegerTypeResize) {
  TensorFactory<ScalarType::Float> tf;
  Tensor out = tf.zeros({4, 4}, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  const size_t sizes[] = {2, 3};
  ASSERT_EQ(torch::executor::resize_tensor(out, executorch::aten::ArrayRef<size_t>(sizes, 2)),
            Error::Ok);
  EXPECT_EQ(out.size(1), 3);
  const size_t too_large[] = {size_t{1} << 40, 1};
  EXPECT_EQ(torch::executor::resize_tensor(out, executorch::aten::ArrayRef<size_t>(too_large, 2)),
            Error::InvalidArgument);
}

}  // namespace
