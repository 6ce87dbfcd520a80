// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Plans the offsets of intermediate results in one block of memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace executorch::backends::xnnpack {

/// Memory that is needed from first_step to last_step, inclusive.
struct LiveBlock {
  uint64_t bytes;
  size_t first_step, last_step;
};

struct MemoryPlan {
  /// One for each block, in order; multiples of kMemoryAlignment.
  std::vector<uint64_t> offsets;
  uint64_t total_bytes = 0;
};

constexpr size_t kMemoryAlignment = 64;

/// Bytes, rounded up to a multiple of kMemoryAlignment.
template <typename T>
constexpr T aligned(T bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

/// Places blocks so that those that live at the same step do not overlap: the largest first, each
/// at the lowest offset where it fits. Many thousands are placed in the order of their first steps,
/// in less time but more memory.
MemoryPlan plan_memory(const std::vector<LiveBlock>& blocks);

}  // namespace executorch::backends::xnnpack
