// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>

#include "fuzz/program/mutate_program.h"

namespace executorch::fuzz {

using namespace executorch::testing;

namespace {

struct Range {
  TestTensor* tensor;
  uint64_t end;
};

/// True if the program has a parametric plan, which determines the offsets in buffer 1.
bool has_parametric_plan(const TestProgram& program) {
  return std::any_of(program.named_data.begin(), program.named_data.end(), [](const auto& entry) {
    return entry.first.rfind("executorch.plan.", 0) == 0;
  });
}

void separate(TestPlan& plan) {
  std::vector<Range> ranges;
  for (TestValue& value : plan.values) {
    const bool is_planned = value.kind == fb::KernelTypes::Tensor && value.tensor.memory_id != 0;
    const uint64_t bytes = is_planned ? bytes_of(value.tensor) : 0;
    if (!is_planned) {
      continue;
    }
    const bool is_inside = value.tensor.memory_id < plan.buffer_sizes.size() &&
                           value.tensor.offset + bytes <=
                               static_cast<uint64_t>(plan.buffer_sizes[value.tensor.memory_id]) &&
                           value.tensor.offset + bytes >= bytes;
    if (!is_inside) {
      return;  // left unchanged, for the verifier
    }
    ranges.push_back({&value.tensor, value.tensor.offset + bytes});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.tensor->memory_id != b.tensor->memory_id ? a.tensor->memory_id < b.tensor->memory_id
                                                      : a.tensor->offset < b.tensor->offset;
  });
  std::vector<int64_t> sizes = {0};
  for (size_t i = 0; i < ranges.size();) {
    const uint32_t buffer = ranges[i].tensor->memory_id;
    const uint64_t start = ranges[i].tensor->offset;
    uint64_t end = ranges[i].end;
    size_t next = i;
    while (next < ranges.size() && ranges[next].tensor->memory_id == buffer &&
           (ranges[next].tensor->offset < end || ranges[next].tensor->offset == start)) {
      end = std::max(end, ranges[next].end);
      ++next;
    }
    for (; i < next; ++i) {
      ranges[i].tensor->memory_id = static_cast<uint32_t>(sizes.size());
      ranges[i].tensor->offset -= start;
    }
    sizes.push_back(static_cast<int64_t>(end - start));
  }
  plan.buffer_sizes = std::move(sizes);
  plan.devices.clear();
}

}  // namespace

void separate_planned(TestProgram& program) {
  if (has_parametric_plan(program)) {
    return;
  }
  for (TestPlan& plan : program.plans) {
    separate(plan);
  }
}

}  // namespace executorch::fuzz
