// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The tools for tests that the runtime offers its users.
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <gtest/gtest.h>
#include <math.h>

#include <string>
#include <vector>

using namespace executorch::runtime;
using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::compare_tensors;
using executorch::runtime::testing::TensorFactory;
using executorch::runtime::testing::TensorListFactory;

namespace {

TEST(TensorFactoryTest, MakesTensorsInEveryLayout) {
  TensorFactory<ScalarType::Int> ints;
  const Tensor tensor = ints.make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tensor.strides()[0], 3);
  const Tensor transposed = ints.make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2});
  EXPECT_EQ(transposed.dim_order()[0], 1);
  EXPECT_EQ(transposed.strides()[1], 2);
  const Tensor last = ints.channels_last_like(ints.make({1, 2, 1, 2}, {1, 2, 3, 4}));
  EXPECT_TENSOR_EQ(last, ints.make_channels_last({1, 2, 1, 2}, {1, 3, 2, 4}));
  EXPECT_TENSOR_EQ(ints.zeros_like(last), ints.zeros_channels_last({1, 2, 1, 2}));
  EXPECT_TENSOR_EQ(ints.full({2}, 7), ints.make({2}, {7, 7}));
  EXPECT_EQ(ints.ones({}).numel(), 1);
  EXPECT_EQ(ints.ones({0, 2}).numel(), 0);
}

TEST(TensorFactoryTest, MakesEveryArithmeticDtype) {
  TensorFactory<ScalarType::Bool> bools;
  EXPECT_TENSOR_NE(bools.ones({3}), bools.zeros({3}));
  TensorFactory<ScalarType::Half> halves;
  EXPECT_TENSOR_EQ(halves.ones({2}), halves.make({2}, {Half(1.0f), Half(1.0f)}));
  TensorFactory<ScalarType::BFloat16> bfloats;
  EXPECT_TENSOR_CLOSE(bfloats.full({1}, BFloat16(1.0f)), bfloats.full({1}, BFloat16(1.005f)));
}

TEST(TensorFactoryTest, BoolsAreMadeFromBytes) {
  TensorFactory<ScalarType::Bool> bools;
  const std::vector<uint8_t> bytes = {2, 0, 1};
  const Tensor made = bools.make({3}, bytes);
  EXPECT_TENSOR_EQ(made, bools.make({3}, {true, false, true}));
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(made.const_data_ptr<bool>())[0], 1);
  const Tensor image = bools.make({1, 2, 1, 2}, {1, 1, 0, 0});
  EXPECT_TENSOR_EQ(bools.channels_last_like(image),
                   bools.make_channels_last({1, 2, 1, 2}, {1, 0, 1, 0}, {0, 2, 3, 1},
                                            TensorShapeDynamism::DYNAMIC_BOUND));
}

TEST(TensorFactoryTest, StorageTypesAreMadeFromNumbers) {
  TensorFactory<ScalarType::QInt8> quantized;
  const Tensor made = quantized.make({2}, {-1, 7});
  EXPECT_EQ(made.const_data_ptr<executorch::runtime::etensor::qint8>()[0].val_, -1);
  EXPECT_EQ(quantized.ones({3}).nbytes(), 3u);
  TensorFactory<ScalarType::Bits16> bits;
  EXPECT_EQ(bits.make({1}, {0xFFFF}).nbytes(), 2u);
}

TEST(TensorFactoryDeathTest, WrongDataEndsTheTest) {
  TensorFactory<ScalarType::Int> ints;
  EXPECT_DEATH(ints.make({2}, {1}), "1 elements for a shape of 2");
  EXPECT_DEATH(ints.make({2, 2}, {1, 2, 3, 4}, {4, 2}), "strides with gaps or overlaps");
  EXPECT_DEATH(ints.make({2, 2}, {1, 2, 3, 4}, {1, 1}), "strides with gaps or overlaps");
  EXPECT_EQ(ints.make({1, 2, 3}, {1, 2, 3, 4, 5, 6}, {2, 1, 2}).strides()[0], 2);
}

TEST(TensorComparisonTest, EqualityIsExactAndClosenessIsNot) {
  TensorFactory<ScalarType::Float> floats;
  const Tensor one = floats.ones({2});
  const Tensor nearly = floats.full({2}, 1.000001f);
  EXPECT_TENSOR_NE(one, nearly);
  EXPECT_TENSOR_CLOSE(one, nearly);
  EXPECT_TENSOR_NOT_CLOSE(one, floats.full({2}, 1.01f));
  EXPECT_TENSOR_CLOSE_WITH_TOL(one, floats.full({2}, 1.01f), 0, 0.1);
  EXPECT_TENSOR_NE(one, floats.ones({1, 2}));
  EXPECT_TENSOR_DATA_EQ(one, floats.ones({1, 2}));
  EXPECT_TENSOR_EQ(floats.full({2}, NAN), floats.full({2}, NAN));
  EXPECT_TENSOR_NOT_CLOSE(floats.full({2}, INFINITY), floats.full({2}, 1e30f));
  TensorFactory<ScalarType::Double> doubles;
  EXPECT_TENSOR_NE(one, doubles.ones({2}));
}

TEST(TensorComparisonTest, IntegersAreComparedExactly) {
  TensorFactory<ScalarType::Long> longs;
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_TENSOR_NOT_CLOSE(longs.full({1}, big), longs.full({1}, big - 1));
  EXPECT_TENSOR_NE(longs.full({1}, 3), longs.full({1}, 4));
  EXPECT_TENSOR_NOT_CLOSE_WITH_TOL(longs.full({1}, 3), longs.full({1}, 4), 0, 1);
}

TEST(TensorComparisonTest, SixteenBitsHaveWiderAbsoluteTolerances) {
  TensorFactory<ScalarType::Half> halves;
  const Tensor zero = halves.zeros({1});
  EXPECT_TENSOR_CLOSE(zero, halves.full({1}, Half(0.0009f)));
  EXPECT_TENSOR_NOT_CLOSE(zero, halves.full({1}, Half(0.0012f)));
  EXPECT_TENSOR_NOT_CLOSE(halves.full({1}, Half(1000.0f)), halves.full({1}, Half(1000.5f)));
  TensorFactory<ScalarType::BFloat16> bfloats;
  EXPECT_TENSOR_CLOSE(bfloats.zeros({1}), bfloats.full({1}, BFloat16(0.009f)));
  EXPECT_TENSOR_NOT_CLOSE(bfloats.zeros({1}), bfloats.full({1}, BFloat16(0.012f)));
}

TEST(TensorComparisonTest, ComplexNumbersAreComparedByTheirParts) {
  using Complex = executorch::aten::complex<double>;
  TensorFactory<ScalarType::ComplexDouble> complexes;
  const Tensor one = complexes.make({1}, {Complex(-2, 2)});
  const Tensor nearly = complexes.make({1}, {Complex(-1.9999999999999998, 2)});
  EXPECT_TENSOR_CLOSE(one, nearly);
  EXPECT_TENSOR_NE(one, nearly);
  EXPECT_TENSOR_NOT_CLOSE(one, complexes.make({1}, {Complex(-2, 2.01)}));
  EXPECT_TENSOR_EQ(complexes.make({1}, {Complex(0.0, -0.0)}), complexes.zeros({1}));
  EXPECT_TENSOR_EQ(complexes.make({0}, {}), complexes.zeros({0}));
  const std::string text =
      compare_tensors(true, one, complexes.make({1}, {Complex(3, -4)})).message();
  EXPECT_NE(text.find("data={-2+2j}"), std::string::npos) << text;
  EXPECT_NE(text.find("data={3-4j}"), std::string::npos) << text;
}

TEST(TensorComparisonTest, AFailureShowsBothSides) {
  TensorFactory<ScalarType::Int> ints;
  const auto verdict = compare_tensors(true, ints.make({2}, {1, 2}), ints.make({2}, {1, 3}));
  const std::string text = verdict.message();
  EXPECT_NE(text.find("data={1, 2}"), std::string::npos) << text;
  EXPECT_NE(text.find("data={1, 3}"), std::string::npos) << text;
}

TEST(TensorComparisonTest, ArgumentsAreEvaluatedOnce) {
  TensorFactory<ScalarType::Int> ints;
  int evaluated = 0;
  const auto make = [&] { return ints.full({1}, ++evaluated); };
  EXPECT_TENSOR_EQ(make(), ints.ones({1}));
  EXPECT_EQ(evaluated, 1);
}

TEST(TensorComparisonTest, ListsAreComparedItemByItem) {
  TensorFactory<ScalarType::Int> ints;
  TensorListFactory<ScalarType::Int> lists;
  const auto zeros = lists.zeros_like({ints.ones({2}), ints.ones({1, 2})});
  const std::vector<Tensor> expected = {ints.zeros({2}), ints.zeros({1, 2})};
  EXPECT_TENSOR_LISTS_EQ(zeros,
                         executorch::aten::ArrayRef<Tensor>(expected.data(), expected.size()));
}

}  // namespace
