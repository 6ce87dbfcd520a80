// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses silu(x), which a payload expresses as x * sigmoid(x), and products silu(x) * y.
#include <executorch/backends/xnnpack/runtime/graph/passes.h>

namespace executorch::backends::xnnpack {
namespace {

/// Merges nodes into the unfused float32 multiplications that are the only readers of their
/// results.
/// @param merge Called with a multiplication, the node that computes one of its factors, and the
/// other factor. Returns whether it merged the node, which is removed then.
template <class Merge>
void merge_factors(Graph* graph, Merge merge) {
  const std::vector<size_t> uses = graph->count_uses();
  const std::vector<size_t> producers = graph->producers();
  std::vector<bool> erased(graph->nodes.size());
  for (Node& node : graph->nodes) {
    if (node.kind != NodeKind::Multiply || node.fused != Fused::No ||
        graph->values[node.result()].datatype != Datatype::Float32) {
      continue;
    }
    for (size_t side = 0; side < 2; ++side) {
      const uint32_t factor = node.operand(side);
      if (uses[factor] == 1 && graph->values[factor].is_internal() &&
          producers[factor] != SIZE_MAX &&
          merge(&node, graph->nodes[producers[factor]], node.operand(1 - side))) {
        erased[producers[factor]] = true;
        break;
      }
    }
  }
  graph->remove_nodes(erased);
}

}  // namespace

void fuse_silu(Graph* graph) {
  merge_factors(graph, [](Node* node, const Node& sigmoid, uint32_t x) {
    if (!node->clamp.is_none() || sigmoid.kind != NodeKind::Sigmoid || sigmoid.operand(0) != x) {
      return false;
    }
    node->fused = Fused::Silu;
    node->operands[0] = x;
    node->operands[1] = kNoValue;
    node->operand_count = 1;
    return true;
  });
}

void fuse_silu_products(Graph* graph) {
  merge_factors(graph, [](Node* node, const Node& silu, uint32_t factor) {
    if (silu.fused != Fused::Silu) {
      return false;
    }
    node->fused = Fused::SiluProduct;
    node->operands[0] = silu.operand(0);
    node->operands[1] = factor;
    return true;
  });
}

}  // namespace executorch::backends::xnnpack
