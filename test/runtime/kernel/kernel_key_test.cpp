// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ScalarType;

namespace {

using Order = std::vector<uint8_t>;

TensorMeta meta(ScalarType type, Order& order) { return {type, {order.data(), order.size()}}; }

std::string key_of(std::vector<TensorMeta> tensors) {
  char text[internal::kKernelKeyBufSize];
  const Error error =
      internal::make_kernel_key_string({tensors.data(), tensors.size()}, text, sizeof(text));
  return error == Error::Ok ? text : to_string(error);
}

TEST(KernelKeyTest, ListsDtypesAndDimOrders) {
  Order two = {0, 1};
  Order last = {0, 2, 3, 1};
  Order none;
  EXPECT_EQ(key_of({meta(ScalarType::Float, two)}), "v1/6;0,1");
  EXPECT_EQ(key_of({meta(ScalarType::Long, two), meta(ScalarType::BFloat16, last)}),
            "v1/4;0,1|15;0,2,3,1");
  EXPECT_EQ(key_of({meta(ScalarType::Float, none)}), "v1/6;");
  EXPECT_EQ(key_of({}), "");
}

TEST(KernelKeyTest, SixteenTensorsOfRankSixteenFit) {
  Order sixteen;
  for (uint8_t i = 0; i < 16; ++i) {
    sixteen.push_back(i);
  }
  const std::vector<TensorMeta> tensors(16, meta(ScalarType::BFloat16, sixteen));
  EXPECT_EQ(key_of(tensors).substr(0, 12), "v1/15;0,1,2,");
}

TEST(KernelKeyTest, AKeyThatDoesNotFitIsAnError) {
  LogCapture log;
  Order two = {0, 1};
  const TensorMeta tensor = meta(ScalarType::Float, two);
  char text[9];
  EXPECT_EQ(internal::make_kernel_key_string(Span<const TensorMeta>(tensor), text, 9), Error::Ok);
  EXPECT_EQ(internal::make_kernel_key_string(Span<const TensorMeta>(tensor), text, 8),
            Error::InvalidArgument);
  EXPECT_EQ(internal::make_kernel_key_string(Span<const TensorMeta>(tensor), text, 0),
            Error::InvalidArgument);
  Order deep(17, 0);
  EXPECT_EQ(key_of({meta(ScalarType::Float, deep)}), "Error::InvalidArgument");
  Order wild = {200};
  EXPECT_EQ(key_of({meta(ScalarType::Float, wild)}), "Error::InvalidArgument");
}

TEST(KernelKeyTest, Compares) {
  EXPECT_TRUE(KernelKey().is_fallback());
  EXPECT_EQ(KernelKey(), KernelKey());
  const std::string text = "v1/6;0";
  EXPECT_EQ(KernelKey("v1/6;0"), KernelKey(text.c_str()));
  EXPECT_NE(KernelKey("v1/6;0"), KernelKey());
  EXPECT_NE(KernelKey("v1/6;0"), KernelKey("v1/7;0"));
  Order two = {0, 1};
  Order same = {0, 1};
  Order other = {1, 0};
  EXPECT_EQ(meta(ScalarType::Float, two), meta(ScalarType::Float, same));
  EXPECT_NE(meta(ScalarType::Float, two), meta(ScalarType::Float, other));
  EXPECT_NE(meta(ScalarType::Float, two), meta(ScalarType::Int, two));
}

}  // namespace
