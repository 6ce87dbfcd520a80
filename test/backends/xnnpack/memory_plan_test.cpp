// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include <executorch/backends/xnnpack/runtime/graph/memory_plan.h>

namespace executorch::backends::xnnpack {
namespace {

bool live_together(const LiveBlock& a, const LiveBlock& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

TEST(MemoryPlan, GivesAChainTheMemoryOfTwoNeighbors) {
  std::vector<LiveBlock> chain;
  for (size_t i = 0; i < 10; ++i) {
    chain.push_back({640, i, i + 1});
  }
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.total_bytes, 2u * 640);
}

TEST(MemoryPlan, UsesTheGapBelowABlockThatLivesOn) {
  const std::vector<LiveBlock> blocks = {{6400, 0, 1}, {640, 1, 9}, {6400, 3, 4}};
  EXPECT_EQ(plan_memory(blocks).total_bytes, 6400u + 640);
}

TEST(MemoryPlan, ReservesNoMemoryForEmptyBlocks) {
  EXPECT_EQ(plan_memory({}).total_bytes, 0u);
  EXPECT_EQ(plan_memory({{0, 0, 5}, {0, 2, 3}}).total_bytes, 0u);
}

TEST(MemoryPlan, OfBlocksLargerThanAnyMemoryDoesNotWrapAround) {
  for (const size_t count : {size_t{3}, size_t{9000}}) {
    std::vector<LiveBlock> blocks;
    for (size_t i = 0; i < count; ++i) {
      blocks.push_back({(uint64_t{1} << 62) + 64 * i, i, i});
    }
    EXPECT_GE(plan_memory(blocks).total_bytes, uint64_t{1} << 62) << count;
  }
}

TEST(MemoryPlan, NeverOverlapsBlocksThatLiveAtTheSameStep) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveBlock> blocks(1 + random() % 40);
    size_t all = 0;
    for (LiveBlock& block : blocks) {
      const size_t first = random() % 30;
      block = {random() % 5000, first, first + random() % 8};
      all += (block.bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    }
    const MemoryPlan plan = plan_memory(blocks);
    EXPECT_LE(plan.total_bytes, all);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % kMemoryAlignment, 0u);
      EXPECT_LE(plan.offsets[i] + blocks[i].bytes, plan.total_bytes);
      for (size_t k = 0; k < i; ++k) {
        const bool apart = plan.offsets[i] + blocks[i].bytes <= plan.offsets[k] ||
                           plan.offsets[k] + blocks[k].bytes <= plan.offsets[i];
        EXPECT_TRUE(apart || !live_together(blocks[i], blocks[k]) || blocks[i].bytes == 0 ||
                    blocks[k].bytes == 0);
      }
    }
  }
}

TEST(MemoryPlan, NeverOverlapsAnyOfManyBlocks) {
  std::mt19937 random(7);
  std::vector<LiveBlock> blocks(20000);
  std::vector<std::vector<size_t>> live(blocks.size() / 4 + 8);
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = {random() % 5000, i / 4, i / 4 + random() % 8};
    for (size_t step = blocks[i].first_step; step <= blocks[i].last_step; ++step) {
      live[step].push_back(i);
    }
  }
  std::reverse(blocks.begin(), blocks.end());
  const MemoryPlan plan = plan_memory(blocks);
  // At most about 32 blocks live at a time.
  EXPECT_LT(plan.total_bytes, 60u * 5000);
  for (const std::vector<size_t>& step : live) {
    std::vector<std::pair<size_t, size_t>> ranges;
    for (const size_t i : step) {
      const size_t index = blocks.size() - 1 - i, begin = plan.offsets[index];
      ranges.emplace_back(begin, begin + blocks[index].bytes);
      EXPECT_EQ(begin % kMemoryAlignment, 0u);
      EXPECT_LE(ranges.back().second, plan.total_bytes);
    }
    std::sort(ranges.begin(), ranges.end());
    size_t end = 0;
    for (const auto& range : ranges) {
      EXPECT_TRUE(range.first >= end || range.first == range.second);
      end = std::max(end, range.second);
    }
  }
}

}  // namespace
}  // namespace executorch::backends::xnnpack
