// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The queue of merges stays shallow whatever order its items come in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <executorch/extension/llm/tokenizers/pieces/merge.h>

namespace tokenizers::internal {
namespace {

/// The largest first, as the queue returns its items.
std::vector<uint32_t> taken(const std::vector<uint32_t>& items) {
  AnyPlace<uint32_t> queue;
  for (const uint32_t item : items) queue.push(item);
  EXPECT_EQ(queue.size(), items.size());
  std::vector<uint32_t> result;
  while (queue.size() > 0) result.push_back(queue.take(0));
  return result;
}

TEST(AnyPlace, TakesItemsByTheirPlaces) {
  AnyPlace<int> queue;
  for (const int item : {5, 1, 4, 2, 3}) queue.push(item);
  EXPECT_EQ(queue.take(2), 3);
  EXPECT_EQ(queue.take(3), 1);
  EXPECT_EQ(queue.take(0), 5);
  EXPECT_EQ(queue.size(), 2u);
}

// With predictable priorities, the tree would have a level for each item, and its recursion would
// exhaust the stack.
TEST(AnyPlace, StaysShallowForItemsInTheOrderOfAWellKnownGenerator) {
  constexpr size_t kItems = 120'000;
  std::minstd_rand generator;
  std::vector<uint32_t> items(kItems);
  for (uint32_t& item : items) item = uint32_t(generator());
  std::vector<uint32_t> sorted = items;
  std::sort(sorted.rbegin(), sorted.rend());
  EXPECT_EQ(taken(items), sorted);
}

TEST(AnyPlace, StaysShallowForSortedItems) {
  std::vector<uint32_t> items(120'000);
  std::iota(items.begin(), items.end(), 0u);
  std::vector<uint32_t> sorted(items.rbegin(), items.rend());
  EXPECT_EQ(taken(items), sorted);
  EXPECT_EQ(taken(sorted), sorted);
}

}  // namespace
}  // namespace tokenizers::internal
