// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/memory_allocator/byte_budget.h>
#include <gtest/gtest.h>
#include <stdint.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

using executorch::extension::ByteBudget;
using executorch::extension::TakenBytes;

namespace {

TEST(ByteBudgetTest, TakesUpToTheLimitOfEachRequest) {
  ByteBudget budget;
  EXPECT_TRUE(budget.take(60, 100));
  EXPECT_FALSE(budget.take(41, 100));
  EXPECT_FALSE(budget.take(SIZE_MAX, 100));
  EXPECT_FALSE(budget.take(0, 59));
  EXPECT_EQ(budget.taken(), 60u);
  EXPECT_TRUE(budget.take(40, 100));
  EXPECT_TRUE(budget.take(1, 101));
  budget.add(1000);
  EXPECT_FALSE(budget.take(SIZE_MAX, SIZE_MAX));
  budget.give_back(1101);
  EXPECT_EQ(budget.taken(), 0u);
}

TEST(ByteBudgetTest, ARefusedRequestDoesNotFailAnotherThreads) {
  ByteBudget budget;
  std::atomic<bool> ends{false};
  std::thread greedy([&] {
    while (!ends) {
      ASSERT_FALSE(budget.take(1000, 100));
    }
  });
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(budget.take(100, 100));
    budget.give_back(100);
  }
  ends = true;
  greedy.join();
}

TEST(ByteBudgetTest, TakenBytesAreGivenBackOnce) {
  ByteBudget budget;
  {
    TakenBytes bytes(budget);
    EXPECT_TRUE(bytes.take(60, 100));
    EXPECT_FALSE(bytes.take(60, 100));
    EXPECT_EQ(bytes.size(), 60u);
    bytes.resize(500);
    EXPECT_EQ(budget.taken(), 500u);
    bytes.resize(20);
    TakenBytes moved = std::move(bytes);
    EXPECT_EQ(moved.size(), 20u);
    EXPECT_EQ(budget.taken(), 20u);
    TakenBytes other(budget);
    ASSERT_TRUE(other.take(30, 100));
    other = std::move(moved);
    EXPECT_EQ(budget.taken(), 20u);
    TakenBytes& same = other;
    other = std::move(same);
    EXPECT_EQ(other.size(), 20u);
  }
  EXPECT_EQ(budget.taken(), 0u);
  ByteBudget lent;
  EXPECT_TRUE(TakenBytes(lent).take(1, 1));
  {
    TakenBytes bytes(lent);
    ASSERT_TRUE(bytes.take(7, 7));
    EXPECT_EQ(bytes.release(), 7u);
  }
  EXPECT_EQ(lent.taken(), 7u);
}

}  // namespace
