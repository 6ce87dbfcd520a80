// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/portable_type/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::runtime::etensor::safe_nbytes;
using executorch::runtime::etensor::safe_numel;
using executorch::runtime::etensor::ScalarType;
using executorch::runtime::etensor::Tensor;
using executorch::runtime::etensor::TensorImpl;

namespace {

using Sizes = std::vector<int32_t>;

/// A float tensor with all its arrays.
struct Owner {
  Owner(Sizes sizes_in, std::vector<uint8_t> order, TensorShapeDynamism dynamism)
      : sizes(sizes_in),
        dim_order(order),
        strides(sizes.size(), -1),
        impl(ScalarType::Float, static_cast<ssize_t>(sizes.size()), sizes.data(), data,
             dim_order.data(), strides.data(), dynamism) {}

  Error resize(Sizes to) { return impl.resize_contiguous({to.data(), to.size()}); }

  float data[64];
  Sizes sizes;
  std::vector<uint8_t> dim_order;
  Sizes strides;
  TensorImpl impl;
};

TEST(TensorImplTest, IsSmall) { EXPECT_LE(sizeof(TensorImpl), 7 * sizeof(void*)); }

TEST(TensorImplTest, ShowsWhatItWasMadeOf) {
  Owner owner({2, 3}, {0, 1}, TensorShapeDynamism::STATIC);
  const Tensor tensor(&owner.impl);
  EXPECT_EQ(tensor.dim(), 2);
  EXPECT_EQ(tensor.numel(), 6);
  EXPECT_EQ(tensor.nbytes(), 24u);
  EXPECT_EQ(tensor.element_size(), 4);
  EXPECT_EQ(tensor.size(1), 3);
  EXPECT_EQ(tensor.const_data_ptr<float>(), owner.data);
  EXPECT_EQ(tensor.mutable_data_ptr(), owner.data);
  EXPECT_EQ(tensor.dim_order().size(), 2u);
  EXPECT_TRUE(tensor.device().is_cpu());
}

TEST(TensorImplTest, ATensorOfRankZeroHasOneElement) {
  int64_t value = 5;
  TensorImpl impl(ScalarType::Long, 0, nullptr, &value);
  EXPECT_EQ(impl.numel(), 1);
  EXPECT_EQ(impl.nbytes(), 8u);
  EXPECT_TRUE(impl.sizes().empty());
  EXPECT_EQ(impl.resize_contiguous({}), Error::Ok);
}

TEST(TensorImplTest, WithoutDimOrderAndStridesThereAreNoneToShow) {
  int32_t sizes[] = {2};
  TensorImpl impl(ScalarType::Float, 1, sizes);
  EXPECT_TRUE(impl.dim_order().empty());
  EXPECT_TRUE(impl.strides().empty());
}

TEST(TensorImplTest, ResizingRecomputesStridesInTheDimOrder) {
  Owner owner({2, 3, 2, 2}, {0, 2, 3, 1}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(owner.resize({1, 3, 2, 4}), Error::Ok);
  EXPECT_EQ(owner.impl.numel(), 24);
  EXPECT_EQ(owner.strides, (Sizes{24, 1, 12, 3}));
  EXPECT_EQ(owner.resize({1, 3, 1, 1}), Error::Ok);
  EXPECT_EQ(owner.impl.numel(), 3);
  EXPECT_EQ(owner.impl.numel_capacity(), 24u);
  EXPECT_EQ(owner.resize({2, 3, 2, 2}), Error::Ok);
  EXPECT_EQ(owner.strides, (Sizes{12, 1, 6, 3}));
}

TEST(TensorImplTest, ResizingPastTheCapacityFailsAndChangesNothing) {
  LogCapture log;
  for (const auto dynamism :
       {TensorShapeDynamism::DYNAMIC_BOUND, TensorShapeDynamism::DYNAMIC_UNBOUND}) {
    Owner owner({2, 3}, {0, 1}, dynamism);
    EXPECT_EQ(owner.resize({6, 1}), Error::Ok);
    EXPECT_EQ(owner.resize({7, 1}), Error::NotSupported);
    EXPECT_EQ(owner.sizes, (Sizes{6, 1}));
    EXPECT_EQ(owner.strides, (Sizes{1, 1}));
    EXPECT_EQ(owner.impl.numel(), 6);
  }
  EXPECT_TRUE(log.contains("a tensor of at most 6 elements resized to (7, 1)"));
}

TEST(TensorImplTest, AStaticTensorKeepsItsSizes) {
  LogCapture log;
  Owner owner({2, 3}, {0, 1}, TensorShapeDynamism::STATIC);
  EXPECT_EQ(owner.resize({2, 3}), Error::Ok);
  EXPECT_EQ(owner.resize({3, 2}), Error::NotSupported);
  EXPECT_EQ(owner.resize({2, 2}), Error::NotSupported);
  EXPECT_TRUE(log.contains("a static tensor of sizes (2, 3) resized to (3, 2)"));
}

TEST(TensorImplTest, NegativeAndHugeSizesAreRefused) {
  LogCapture log;
  Owner owner({2, 3}, {0, 1}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(owner.resize({-1, -3}), Error::InvalidArgument);
  EXPECT_EQ(owner.resize({2}), Error::NotSupported);
  EXPECT_EQ(owner.resize({2, 3, 1}), Error::NotSupported);
  const int32_t max = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(owner.resize({max, max}), Error::NotSupported);
  // No elements, but strides that do not fit.
  Owner deep({1, 1, 1}, {0, 1, 2}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(deep.resize({0, max, max}), Error::InvalidArgument);
  EXPECT_EQ(deep.sizes, (Sizes{1, 1, 1}));
  EXPECT_EQ(deep.resize({0, max, 1}), Error::Ok);
  EXPECT_EQ(deep.impl.numel(), 0);
}

TEST(SafeNumelTest, ReturnsACountOrAnError) {
  LogCapture log;
  const int32_t max = std::numeric_limits<int32_t>::max();
  const int32_t big[] = {max, max, max};
  EXPECT_EQ(safe_numel(big, 3).error(), Error::InvalidArgument);
  EXPECT_EQ(*safe_numel(big, 0), 1);
  EXPECT_EQ(safe_numel(nullptr, 1).error(), Error::InvalidArgument);
  const int32_t empty[] = {max, 0, 1 << 28};
  EXPECT_EQ(*safe_numel(empty, 3), 0);
  const int32_t negative[] = {0, -1};
  EXPECT_EQ(safe_numel(negative, 2).error(), Error::InvalidArgument);
  const int32_t edge[] = {max, max};
  if constexpr (sizeof(ssize_t) == 8) {
    EXPECT_EQ(*safe_nbytes(ScalarType::Short, edge, 2), size_t{2} * max * max);
    EXPECT_EQ(safe_nbytes(ScalarType::Int, edge, 2).error(), Error::InvalidArgument);
  }
  EXPECT_EQ(safe_nbytes(ScalarType::Undefined, edge, 1).error(), Error::InvalidArgument);
  EXPECT_EQ(safe_nbytes(static_cast<ScalarType>(-1), edge, 1).error(), Error::InvalidArgument);
}

TEST(SafeNumelTest, RefusesEmptySizesOfWhichAStrideOverflows) {
  LogCapture log;
  const int32_t max = std::numeric_limits<int32_t>::max();
  const int32_t last[] = {max, max, 0}, first[] = {0, max, max}, middle[] = {max, 0, 1 << 29};
  for (const int32_t* sizes : {last, first, middle}) {
    EXPECT_EQ(safe_numel(sizes, 3).error(), Error::InvalidArgument);
  }
}

TEST(TensorImplDeathTest, WrongArgumentsEndTheProgram) {
  int32_t sizes[17] = {};
  EXPECT_DEATH(TensorImpl(ScalarType::Float, 17, sizes), "rank 17");
  EXPECT_DEATH(TensorImpl(ScalarType::Float, -1, sizes), "rank -1");
  sizes[0] = -1;
  EXPECT_DEATH(TensorImpl(ScalarType::Float, 1, sizes), "negative");
  sizes[0] = 1;
  TensorImpl impl(ScalarType::Float, 1, sizes);
  EXPECT_DEATH(impl.size(1), "dimension 1");
}

TEST(TensorImplTest, RankSixteenIsAllowed) {
  int32_t sizes[16];
  for (int32_t& size : sizes) {
    size = 1;
  }
  EXPECT_EQ(TensorImpl(ScalarType::Float, 16, sizes).numel(), 1);
}

}  // namespace
