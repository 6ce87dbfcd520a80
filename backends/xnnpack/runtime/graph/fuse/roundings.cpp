// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Moves the rounding of factors to bfloat16 from a product to the convolution that makes them.
#include <executorch/backends/xnnpack/runtime/graph/passes.h>

namespace executorch::backends::xnnpack {

void fuse_roundings(Graph* graph, const std::function<bool(const Node&)>& can_write_pairs,
                    const std::function<bool(const Node&)>& can_read_pairs) {
  const std::vector<size_t> uses = graph->count_uses();
  const std::vector<size_t> producers = graph->producers();
  for (Node& reader : graph->nodes) {
    const uint32_t factors = reader.operand(0);
    if (factors == kNoValue || uses[factors] != 1 || !graph->values[factors].is_internal() ||
        producers[factors] == SIZE_MAX || !can_read_pairs(reader)) {
      continue;
    }
    Node& writer = graph->nodes[producers[factors]];
    if (writer.residual == kNoValue && can_write_pairs(writer)) {
      writer.writes_pairs = reader.reads_pairs = true;
    }
  }
}

}  // namespace executorch::backends::xnnpack
