// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/tensor/tensor.h>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::extension::clone_tensor_ptr;
using executorch::extension::make_tensor_ptr;
using executorch::extension::resize_tensor_ptr;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;

std::vector<StridesType> strides_of(const TensorPtr& tensor) {
  return {tensor->strides().begin(), tensor->strides().end()};
}

std::vector<DimOrderType> dim_order_of(const TensorPtr& tensor) {
  return {tensor->dim_order().begin(), tensor->dim_order().end()};
}

std::vector<SizesType> sizes_of(const TensorPtr& tensor) {
  return {tensor->sizes().begin(), tensor->sizes().end()};
}

TEST(TensorPtrTest, SharesTheMemoryItIsMadeOver) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr tensor = make_tensor_ptr({2, 3}, data);
  EXPECT_EQ(tensor->const_data_ptr(), data);
  EXPECT_EQ(tensor->numel(), 6);
  EXPECT_EQ(strides_of(tensor), (std::vector<StridesType>{3, 1}));
  EXPECT_EQ(dim_order_of(tensor), (std::vector<DimOrderType>{0, 1}));
}

TEST(TensorPtrTest, OwnsAVector) {
  const TensorPtr tensor = make_tensor_ptr({2, 2}, std::vector<int32_t>{1, 2, 3, 4});
  EXPECT_EQ(tensor->scalar_type(), ScalarType::Int);
  EXPECT_EQ(tensor->const_data_ptr<int32_t>()[3], 4);
}

TEST(TensorPtrTest, ConvertsElementsToTheRequestedType) {
  const TensorPtr tensor =
      make_tensor_ptr({3}, std::vector<int32_t>{1, -2, 3}, {}, {}, ScalarType::Double);
  EXPECT_EQ(tensor->scalar_type(), ScalarType::Double);
  EXPECT_EQ(tensor->const_data_ptr<double>()[1], -2.0);
}

TEST(TensorPtrTest, UnpacksBools) {
  const TensorPtr tensor = make_tensor_ptr(std::vector<bool>{true, false, true});
  EXPECT_EQ(tensor->scalar_type(), ScalarType::Bool);
  EXPECT_TRUE(tensor->const_data_ptr<bool>()[2]);
  EXPECT_FALSE(tensor->const_data_ptr<bool>()[1]);
}

TEST(TensorPtrTest, MakesAScalar) {
  const TensorPtr tensor = make_tensor_ptr(2.5);
  EXPECT_EQ(tensor->dim(), 0);
  EXPECT_EQ(tensor->const_data_ptr<double>()[0], 2.5);
}

TEST(TensorPtrTest, FindsTheDimOrderInTheStrides) {
  std::vector<float> data(24);
  const TensorPtr tensor = make_tensor_ptr({1, 2, 3, 4}, data.data(), {}, {24, 1, 8, 2});
  EXPECT_EQ(dim_order_of(tensor), (std::vector<DimOrderType>{0, 2, 3, 1}));
}

TEST(TensorPtrTest, FindsTheStridesInTheDimOrder) {
  std::vector<float> data(24);
  const TensorPtr tensor = make_tensor_ptr({1, 2, 3, 4}, data.data(), {0, 2, 3, 1}, {});
  EXPECT_EQ(strides_of(tensor), (std::vector<StridesType>{24, 1, 8, 2}));
}

TEST(TensorPtrTest, GivesTheDataToTheDeleterOnce) {
  float data[1] = {};
  int calls = 0;
  TensorPtr tensor =
      make_tensor_ptr({1}, data, ScalarType::Float,
                      executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND, [&](void* given) {
                        EXPECT_EQ(given, data);
                        ++calls;
                      });
  TensorPtr other = tensor;
  tensor.reset();
  EXPECT_EQ(calls, 0);
  other.reset();
  EXPECT_EQ(calls, 1);
}

TEST(TensorPtrTest, AViewKeepsItsTensorAlive) {
  TensorPtr tensor = make_tensor_ptr({2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const TensorPtr view = make_tensor_ptr(tensor, {3, 2});
  tensor.reset();
  EXPECT_EQ(sizes_of(view), (std::vector<SizesType>{3, 2}));
  EXPECT_EQ(view->const_data_ptr<float>()[5], 5);
}

TEST(TensorPtrTest, ACloneHasMemoryOfItsOwn) {
  const TensorPtr tensor = make_tensor_ptr({2}, std::vector<float>{1.5, 2.5});
  const TensorPtr clone = clone_tensor_ptr(tensor);
  tensor->mutable_data_ptr<float>()[0] = 9;
  EXPECT_EQ(clone->const_data_ptr<float>()[0], 1.5);
  const TensorPtr wider = clone_tensor_ptr(clone, ScalarType::Double);
  EXPECT_EQ(wider->const_data_ptr<double>()[1], 2.5);
}

TEST(TensorPtrTest, ACloneOfATensorWithoutDataHasNone) {
  const TensorPtr tensor = make_tensor_ptr({2, 3}, nullptr);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const TensorPtr clone = clone_tensor_ptr(tensor, type);
    EXPECT_EQ(clone->const_data_ptr(), nullptr);
    EXPECT_EQ(clone->scalar_type(), type);
    EXPECT_EQ(sizes_of(clone), (std::vector<SizesType>{2, 3}));
  }
}

TEST(TensorPtrTest, FloatsBecomeUnsignedIntegersOf16BitsAndMore) {
  const std::vector<float> numbers = {1.9f, 1e6f, NAN, 1e30f, -1};
  const TensorPtr narrow =
      make_tensor_ptr({5}, std::vector<float>(numbers), {}, {}, ScalarType::UInt32);
  const uint32_t* data = narrow->const_data_ptr<uint32_t>();
  EXPECT_EQ(std::vector<uint32_t>(data, data + 5),
            (std::vector<uint32_t>{1, 1000000, 0, 0, UINT32_MAX}));
  const TensorPtr wide =
      clone_tensor_ptr(make_tensor_ptr({1}, std::vector<double>{1e19}), ScalarType::UInt64);
  EXPECT_EQ(wide->const_data_ptr<uint64_t>()[0], 10000000000000000000u);
}

TEST(TensorPtrTest, ResizesWithinItsElements) {
  TensorPtr tensor = make_tensor_ptr({4, 2}, std::vector<float>(8));
  ASSERT_EQ(resize_tensor_ptr(tensor, {3, 2}), Error::Ok);
  EXPECT_EQ(sizes_of(tensor), (std::vector<SizesType>{3, 2}));
  EXPECT_EQ(resize_tensor_ptr(tensor, {5, 2}), Error::NotSupported);
  EXPECT_EQ(resize_tensor_ptr(tensor, {6}), Error::NotSupported);
}

TEST(TensorPtrTest, ArgumentsThatContradictEachOtherEndTheProgram) {
  float data[6] = {};
  EXPECT_DEATH((void)make_tensor_ptr({2, 3}, data, {0, 0}, {}), "permutation");
  EXPECT_DEATH((void)make_tensor_ptr({2, 3}, data, {}, {4, 1}), "dense");
  EXPECT_DEATH((void)make_tensor_ptr({0, 1 << 16, 1 << 16}, nullptr), "strides that do not");
  EXPECT_DEATH((void)make_tensor_ptr({2, 3}, std::vector<float>(5)), "5 elements of data");
  EXPECT_DEATH((void)make_tensor_ptr({2}, std::vector<float>(2), {}, {}, ScalarType::Int),
               "elements of Float cannot be converted to Int");
  EXPECT_DEATH((void)clone_tensor_ptr(TensorPtr()), "the tensor is null");
  EXPECT_DEATH((void)make_tensor_ptr(TensorPtr()), "the tensor to view is null");
  TensorPtr none;
  EXPECT_EQ(resize_tensor_ptr(none, {1}), Error::InvalidArgument);
}

}  // namespace
