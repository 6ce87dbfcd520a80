// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/graph/memory_plan.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace executorch::backends::xnnpack {
namespace {

bool live_together(const LiveBlock& a, const LiveBlock& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

constexpr uint64_t kMaxTotal = UINT64_MAX / 2;

/// With more blocks, comparing each with all others takes too long.
constexpr size_t kMaxCompared = 8192;

/// In the order of their first steps, each block takes the smallest place that ended blocks left
/// and that has room for it, or a new one at the end.
MemoryPlan plan_in_order(const std::vector<LiveBlock>& blocks) {
  std::vector<size_t> starts(blocks.size());
  std::iota(starts.begin(), starts.end(), size_t{0});
  std::vector<size_t> ends = starts;
  std::stable_sort(starts.begin(), starts.end(),
                   [&](size_t a, size_t b) { return blocks[a].first_step < blocks[b].first_step; });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](size_t a, size_t b) { return blocks[a].last_step < blocks[b].last_step; });
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<uint64_t> rooms(blocks.size());
  std::multimap<uint64_t, uint64_t> left;  // offsets by room
  size_t ended = 0;
  for (const size_t index : starts) {
    for (; blocks[ends[ended]].last_step < blocks[index].first_step; ++ended) {
      left.emplace(rooms[ends[ended]], plan.offsets[ends[ended]]);
    }
    const uint64_t bytes = aligned(blocks[index].bytes);
    const auto free_range = left.lower_bound(bytes);
    if (bytes == 0 || free_range == left.end()) {
      rooms[index] = bytes;
      plan.offsets[index] = bytes == 0 ? 0 : plan.total_bytes;
      // More than any address space: the plan is refused.
      plan.total_bytes = std::min(plan.total_bytes + bytes, kMaxTotal);
    } else {
      rooms[index] = free_range->first;
      plan.offsets[index] = free_range->second;
      left.erase(free_range);
    }
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<LiveBlock>& blocks) {
  if (blocks.size() > kMaxCompared) {
    return plan_in_order(blocks);
  }
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  // Indices of placed blocks, by ascending offset.
  std::vector<size_t> placed;
  for (const size_t index : order) {
    const uint64_t bytes = aligned(blocks[index].bytes);
    if (bytes == 0) {
      continue;
    }
    uint64_t offset = 0;
    for (const size_t other : placed) {
      if (!live_together(blocks[index], blocks[other])) {
        continue;
      }
      if (plan.offsets[other] >= offset + bytes) {
        break;
      }
      offset = std::max(offset, plan.offsets[other] + aligned(blocks[other].bytes));
    }
    plan.offsets[index] = offset;
    plan.total_bytes = std::max(plan.total_bytes, offset + bytes);
    const auto after =
        std::upper_bound(placed.begin(), placed.end(), index,
                         [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    placed.insert(after, index);
  }
  return plan;
}

}  // namespace executorch::backends::xnnpack
