// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Span, ArrayRef and FunctionRef: what refers to something it does not own.
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/core/span.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;

namespace {

TEST(SpanTest, WritesThrough) {
  int data[] = {1, 2, 3};
  Span<int> span(data);
  span[1] = 5;
  EXPECT_EQ(data[1], 5);
  EXPECT_EQ(span.size(), 3u);
  const Span<const int> read_only = span;
  EXPECT_EQ(read_only[1], 5);
  int sum = 0;
  for (const int value : Span<int>(data, data + 2)) {
    sum += value;
  }
  EXPECT_EQ(sum, 6);
  EXPECT_TRUE(Span<int>().empty());
  EXPECT_EQ(Span<int>(data[2])[0], 3);
}

TEST(ArrayRefTest, ViewsArraysAndSlices) {
  const int64_t data[] = {1, 2, 3, 4};
  const IntArrayRef view(data);
  EXPECT_EQ(view.front(), 1);
  EXPECT_EQ(view.back(), 4);
  EXPECT_EQ(view.slice(1, 2), makeArrayRef(data + 1, 2));
  EXPECT_EQ(view.slice(4).size(), 0u);
  EXPECT_NE(view, view.slice(1));
#ifndef __SANITIZE_ADDRESS__  // whose checks of pointers cannot run while compiling
  static constexpr int kNumbers[] = {1, 2, 3};
  static_assert(ArrayRef<int>(kNumbers).slice(1)[1] == 3);
#endif
  EXPECT_EQ(IntArrayRef(std::array<int64_t, 4>{1, 2, 3, 4}), view);
}

TEST(ArrayRefDeathTest, OutOfRangeEndsTheProgram) {
  const int64_t data[] = {1, 2};
  const IntArrayRef view(data);
  EXPECT_DEATH(view.at(2), "index 2");
  EXPECT_DEATH(view.slice(1, 2), "slice");
  EXPECT_DEATH(view.slice(2, SIZE_MAX), "slice");
  EXPECT_DEATH(IntArrayRef().back(), "index");
}

int twice(int value) { return 2 * value; }
int apply(FunctionRef<int(int)> function, int value) { return function(value); }

TEST(FunctionRefTest, RefersToFunctionsAndClosures) {
  int calls = 0;
  EXPECT_EQ(apply(twice, 3), 6);
  EXPECT_EQ(apply([&](int value) { return value + ++calls; }, 3), 4);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(FunctionRef<int(int)>());
  EXPECT_FALSE(FunctionRef<int(int)>(nullptr));
}

}  // namespace
