// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/tensor_layout.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ScalarType;

namespace {

Error create(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order,
             ScalarType type) {
  return TensorLayout::create({sizes.data(), sizes.size()}, {order.data(), order.size()}, type)
      .error();
}

TEST(TensorLayoutTest, CountsItsBytes) {
  const int32_t sizes[] = {2, 3};
  const uint8_t order[] = {1, 0};
  const Result<const TensorLayout> layout = TensorLayout::create(sizes, order, ScalarType::Double);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->nbytes(), 48u);
  EXPECT_EQ(layout->sizes()[1], 3);
  EXPECT_EQ(layout->dim_order()[0], 1);
  EXPECT_EQ(layout->scalar_type(), ScalarType::Double);
  EXPECT_EQ(TensorLayout::create({}, {}, ScalarType::Float)->nbytes(), 4u);
}

TEST(TensorLayoutTest, RefusesInvalidTensors) {
  LogCapture log;
  const int32_t max = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(create({2}, {0, 1}, ScalarType::Float), Error::InvalidArgument);
  EXPECT_EQ(create({2, 2}, {0, 0}, ScalarType::Float), Error::InvalidArgument);
  EXPECT_EQ(create({-2}, {0}, ScalarType::Float), Error::InvalidArgument);
  EXPECT_EQ(create({2}, {0}, ScalarType::Undefined), Error::InvalidArgument);
  EXPECT_EQ(create({max, max, max}, {0, 1, 2}, ScalarType::Float), Error::InvalidArgument);
  EXPECT_EQ(create(std::vector<int32_t>(17, 1), std::vector<uint8_t>(17, 0), ScalarType::Float),
            Error::InvalidArgument);
}

}  // namespace
