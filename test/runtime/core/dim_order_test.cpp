// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;

namespace {

using Order = std::vector<uint8_t>;

bool valid(const Order& order) { return validate_dim_order(order.data(), order.size()); }

TEST(DimOrderTest, APermutationIsValid) {
  EXPECT_TRUE(valid({}));
  EXPECT_TRUE(valid({0, 2, 3, 1}));
  EXPECT_FALSE(valid({0, 0}));
  EXPECT_FALSE(valid({0, 2}));
  EXPECT_FALSE(valid({255}));
  Order sixteen(16);
  std::iota(sixteen.begin(), sixteen.end(), uint8_t{0});
  EXPECT_TRUE(valid(sixteen));
  sixteen.push_back(16);
  EXPECT_FALSE(valid(sixteen));
}

TEST(DimOrderTest, KnowsContiguousAndChannelsLast) {
  const Order contiguous = {0, 1, 2, 3};
  const Order last = {0, 2, 3, 1};
  const Order last_3d = {0, 2, 3, 4, 1};
  EXPECT_TRUE(is_contiguous_dim_order(contiguous.data(), 4));
  EXPECT_FALSE(is_contiguous_dim_order(last.data(), 4));
  EXPECT_TRUE(is_channels_last_dim_order(last.data(), 4));
  EXPECT_TRUE(is_channels_last_dim_order(last_3d.data(), 5));
  EXPECT_FALSE(is_channels_last_dim_order(contiguous.data(), 4));
  EXPECT_FALSE(is_channels_last_dim_order(last.data(), 3));
}

TEST(DimOrderTest, EveryOrderOfFourDimensionsIsRecoveredFromItsStrides) {
  const int32_t sizes[] = {2, 3, 4, 5};
  Order order = {0, 1, 2, 3};
  do {
    int32_t strides[4];
    ASSERT_EQ(dim_order_to_stride(sizes, order.data(), 4, strides), Error::Ok);
    EXPECT_EQ(strides[order[3]], 1);
    EXPECT_EQ(strides[order[0]] * sizes[order[0]], 120);
    Order back(4);
    ASSERT_EQ(stride_to_dim_order(strides, 4, back.data()), Error::Ok);
    EXPECT_EQ(back, order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DimOrderTest, ASizeOfZeroCountsAsOne) {
  const int32_t sizes[] = {2, 0, 3};
  const Order order = {0, 1, 2};
  int32_t strides[3];
  ASSERT_EQ(dim_order_to_stride(sizes, order.data(), 3, strides), Error::Ok);
  EXPECT_EQ(strides[0], 3);
  EXPECT_EQ(strides[1], 3);
  EXPECT_EQ(strides[2], 1);
}

TEST(DimOrderTest, EqualStridesKeepTheirOrder) {
  const int32_t strides[] = {1, 1, 1};
  Order order(3);
  ASSERT_EQ(stride_to_dim_order(strides, 3, order.data()), Error::Ok);
  EXPECT_EQ(order, (Order{0, 1, 2}));
}

TEST(DimOrderTest, WrongOrdersAreRefused) {
  LogCapture log;
  const int32_t max = std::numeric_limits<int32_t>::max();
  const int32_t sizes[] = {2, max, max};
  const Order order = {0, 1, 2};
  int32_t strides[17];
  EXPECT_EQ(dim_order_to_stride(sizes, order.data(), 3, strides), Error::InvalidArgument);
  const Order twice = {0, 0, 1};
  EXPECT_EQ(dim_order_to_stride(sizes, twice.data(), 3, strides), Error::InvalidArgument);
  uint8_t out[17];
  EXPECT_EQ(stride_to_dim_order(strides, 17, out), Error::NotSupported);
  // The product past the outermost dimension is not a stride.
  const int32_t outer[] = {max, max, 1};
  EXPECT_EQ(dim_order_to_stride(outer, order.data(), 3, strides), Error::Ok);
  EXPECT_EQ(strides[0], max);
}

}  // namespace
