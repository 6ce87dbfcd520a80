// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses a depthwise convolution of float32 with the changes of layout before and after it, which
// can take longer than the convolution.
#include <iterator>

#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/kernels/engine/planes/planes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
namespace engine = ::executorch::kernels::engine;
using runtime::internal::count;

constexpr uint32_t kToChannelsLast[] = {0, 2, 3, 1}, kToChannelsFirst[] = {0, 3, 1, 2};

bool moves_axes(const Node& node, const uint32_t (&order)[4]) {
  if (node.kind != NodeKind::StaticTranspose) {
    return false;
  }
  const auto* perm = node.as<fb::StaticTranspose>().perm();
  for (uint32_t d = 0; d < std::size(order); ++d) {
    if (count(perm) != std::size(order) || perm->Get(d) != order[d]) {
      return false;
    }
  }
  return true;
}

bool is_constant_float(const Value& value) {
  return value.is_constant() && value.datatype == Datatype::Float32;
}

bool is_faster(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::DepthwiseConv2d || node.fused != Fused::No ||
      (node.flags & kSamePadding) != 0 || !is_constant_float(graph.values[node.operand(1)]) ||
      (node.operand(2) != kNoValue && !is_constant_float(graph.values[node.operand(2)]))) {
    return false;
  }
  const Value& images = graph.values[node.operand(0)];
  return images.datatype == Datatype::Float32 &&
         engine::planes_are_faster(convolution_params(node),
                                   {static_cast<size_t>(images.declared.dims[1]),
                                    static_cast<size_t>(images.declared.dims[2])});
}

}  // namespace

void fuse_planes(Graph* graph) {
  const std::vector<size_t> uses = graph->count_uses();
  const std::vector<size_t> producers = graph->producers();
  std::vector<size_t> consumers(graph->values.size(), SIZE_MAX);
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    for (size_t o = 0; o < graph->nodes[i].operand_count; ++o) {
      if (graph->nodes[i].operands[o] != kNoValue) {
        consumers[graph->nodes[i].operands[o]] = i;
      }
    }
  }
  const auto is_inner = [&](uint32_t id) {
    return graph->values[id].is_internal() && uses[id] == 1;
  };
  std::vector<bool> erased(graph->nodes.size());
  for (Node& node : graph->nodes) {
    if (!is_faster(*graph, node) || !is_inner(node.operand(0)) || !is_inner(node.result())) {
      continue;
    }
    const size_t before = producers[node.operand(0)], behind = consumers[node.result()];
    if (before == SIZE_MAX || behind == SIZE_MAX ||
        !moves_axes(graph->nodes[before], kToChannelsLast) ||
        !moves_axes(graph->nodes[behind], kToChannelsFirst)) {
      continue;
    }
    node.fused = Fused::PlaneConvolution;
    node.operands[0] = graph->nodes[before].operand(0);
    node.results[0] = graph->nodes[behind].result();
    erased[before] = erased[behind] = true;
  }
  graph->remove_nodes(erased);
}

}  // namespace executorch::backends::xnnpack
