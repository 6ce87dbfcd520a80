// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/tensor/tensor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

using namespace executorch::extension;
using executorch::aten::ScalarType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;

template <typename T>
bool all_are(const TensorPtr& tensor, T value) {
  const T* data = tensor->const_data_ptr<T>();
  return std::all_of(data, data + tensor->numel(), [&](T item) { return item == value; });
}

TEST(TensorPtrMakerTest, FillsWithOneValueInEveryType) {
  EXPECT_TRUE(all_are<float>(full({2, 3}, 2.5), 2.5f));
  EXPECT_TRUE(all_are<int64_t>(full({4}, 7, ScalarType::Long), 7));
  EXPECT_TRUE(all_are<bool>(ones({4}, ScalarType::Bool), true));
  EXPECT_TRUE(all_are<double>(zeros({4}, ScalarType::Double), 0.0));
  EXPECT_EQ(static_cast<float>(scalar_tensor(0.5, ScalarType::BFloat16)
                                   ->const_data_ptr<executorch::aten::BFloat16>()[0]),
            0.5f);
}

TEST(TensorPtrMakerTest, FillsInTheGivenStrides) {
  const TensorPtr zero = zeros_strided({2, 3}, {1, 2}, ScalarType::Int);
  EXPECT_TRUE(all_are<int32_t>(zero, 0));
  EXPECT_EQ(zero->strides()[1], 2);
  const TensorPtr one = ones_strided({2, 3}, {1, 2});
  EXPECT_TRUE(all_are<float>(one, 1.0f));
  EXPECT_EQ(one->strides()[1], 2);
}

TEST(TensorPtrMakerTest, LikeTakesSizesOrderAndType) {
  const TensorPtr model = empty_strided({2, 3}, {1, 2}, ScalarType::Short);
  const TensorPtr same = ones_like(model);
  EXPECT_EQ(same->scalar_type(), ScalarType::Short);
  EXPECT_EQ(same->strides()[0], 1);
  EXPECT_EQ(same->strides()[1], 2);
  EXPECT_EQ(zeros_like(model, ScalarType::Float)->scalar_type(), ScalarType::Float);
}

TEST(TensorPtrMakerTest, RandomNumbersLieInTheirRange) {
  const TensorPtr uniform = rand({1000});
  const float* values = uniform->const_data_ptr<float>();
  EXPECT_TRUE(std::all_of(values, values + 1000, [](float v) { return v >= 0 && v <= 1; }));
  EXPECT_GT(std::set<float>(values, values + 1000).size(), 900u);

  const TensorPtr integers = randint(-3, 4, {1000});
  const int32_t* drawn = integers->const_data_ptr<int32_t>();
  EXPECT_EQ(std::set<int32_t>(drawn, drawn + 1000), (std::set<int32_t>{-3, -2, -1, 0, 1, 2, 3}));

  const TensorPtr normal = randn({1000}, ScalarType::Double);
  const double* samples = normal->const_data_ptr<double>();
  EXPECT_LT(*std::min_element(samples, samples + 1000), -1.0);
  EXPECT_GT(*std::max_element(samples, samples + 1000), 1.0);
}

TEST(TensorPtrMakerTest, BlobsAreUsedWhereTheyLie) {
  int32_t data[4] = {1, 2, 3, 4};
  EXPECT_EQ(from_blob(data, {2, 2}, ScalarType::Int)->const_data_ptr(), data);
  const TensorPtr transposed = for_blob(data, {2, 2}, ScalarType::Int).dim_order({1, 0});
  EXPECT_EQ(transposed->strides()[0], 1);
  bool deleted = false;
  from_blob(data, {4}, ScalarType::Int, [&](void*) { deleted = true; });
  EXPECT_TRUE(deleted);
}

TEST(TensorAccessorTest, FollowsTheStrides) {
  const TensorPtr tensor =
      make_tensor_ptr({2, 3}, std::vector<float>{0, 3, 1, 4, 2, 5}, {1, 0}, {});
  auto accessor = make_tensor_accessor<float, 2>(*tensor);
  ASSERT_TRUE(accessor.ok());
  EXPECT_EQ((*accessor)[0][2], 2);
  EXPECT_EQ((*accessor)[1][0], 3);
  (*accessor)[1][1] = 40;
  EXPECT_EQ(tensor->const_data_ptr<float>()[3], 40);
  EXPECT_EQ((*accessor).size(1), 3);
}

TEST(TensorAccessorTest, RefusesAnotherRankOrElementSize) {
  const TensorPtr tensor = zeros({2, 3});
  EXPECT_EQ((make_tensor_accessor<float, 3>(*tensor).error()),
            executorch::runtime::Error::InvalidArgument);
  EXPECT_EQ((make_tensor_accessor<const double, 2>(*tensor).error()),
            executorch::runtime::Error::InvalidArgument);
}

}  // namespace
