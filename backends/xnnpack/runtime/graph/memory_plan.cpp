// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/graph/memory_plan.h>

#include <algorithm>
#include <numeric>

namespace executorch::backends::xnnpack {
namespace {

bool live_together(const LiveBlock& a, const LiveBlock& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

size_t aligned(size_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<LiveBlock>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  // Indices of placed blocks, by ascending offset.
  std::vector<size_t> placed;
  for (const size_t index : order) {
    const size_t bytes = aligned(blocks[index].bytes);
    if (bytes == 0) {
      continue;
    }
    size_t offset = 0;
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
