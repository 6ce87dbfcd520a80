// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses clamps into the node before them, and paddings into the node after them, where both sides
// of the clamp or padding have one quantization: packed weights contain the quantization of a
// node's operand and result, and their key (WeightKeys) has it as the payload does.
#include <algorithm>
#include <cmath>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::internal::count;

bool is_convolution(NodeKind kind) {
  return kind == NodeKind::Conv2d || kind == NodeKind::DepthwiseConv2d;
}

bool is_binary(NodeKind kind) {
  switch (kind) {
    case NodeKind::Add:
    case NodeKind::Subtract:
    case NodeKind::Multiply:
    case NodeKind::Div:
    case NodeKind::Minimum:
    case NodeKind::Maximum:
    case NodeKind::PReLU:
    case NodeKind::CopySign:
      return true;
    default:
      return false;
  }
}

/// True for a node whose operator clamps its results.
bool clamps(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::Conv2d:
    case NodeKind::DepthwiseConv2d:
    case NodeKind::ConvTranspose2d:
    case NodeKind::FullyConnected:
    case NodeKind::AvgPooling2d:
    case NodeKind::MaxPooling2d:
      return true;
    default:
      // Binary operators of the engine clamp; those of XNNPACK do not.
      return is_binary(node.kind) && node.fused == Fused::No &&
             graph.values[node.operand(0)].datatype == Datatype::Float32;
  }
}

/// The padding of height and width by zeros that a node computes; false if it does anything else.
bool read_image_padding(const Node& node, Window2d* padding) {
  if (node.kind != NodeKind::StaticConstantPad) {
    return false;
  }
  const auto& n = node.as<fb::StaticConstantPad>();
  const auto *before = n.pre_paddings(), *after = n.post_paddings();
  if (count(before) != 4 || count(after) != 4 || n.padding_value() != 0 || before->Get(0) != 0 ||
      after->Get(0) != 0 || before->Get(3) != 0 || after->Get(3) != 0) {
    return false;
  }
  padding->top = before->Get(1);
  padding->bottom = after->Get(1);
  padding->left = before->Get(2);
  padding->right = after->Get(2);
  return true;
}

/// Adds a padding to a window's; false if a number would overflow.
bool add_padding(const Window2d& padding, Window2d* window) {
  const auto fits = [](uint32_t a, uint32_t b) { return a <= UINT32_MAX - b; };
  if (!fits(window->top, padding.top) || !fits(window->bottom, padding.bottom) ||
      !fits(window->left, padding.left) || !fits(window->right, padding.right)) {
    return false;
  }
  window->top += padding.top;
  window->bottom += padding.bottom;
  window->left += padding.left;
  window->right += padding.right;
  return true;
}

}  // namespace

void separate_clamps(Graph* graph) {
  std::vector<Node> nodes;
  for (Node node : graph->nodes) {
    if (!is_binary(node.kind) || node.clamp.is_none() || clamps(*graph, node)) {
      if (!clamps(*graph, node) && node.kind != NodeKind::Clamp) {
        node.clamp = {};
      }
      nodes.push_back(node);
      continue;
    }
    Node clamp;
    clamp.kind = NodeKind::Clamp;
    clamp.clamp = node.clamp;
    clamp.debug_handle = node.debug_handle;
    clamp.operand_count = clamp.result_count = 1;
    clamp.results[0] = node.results[0];
    const Value result = graph->values[node.results[0]];
    node.results[0] = clamp.operands[0] = graph->add_value(result.datatype, node.results[0]);
    graph->values[node.results[0]].scale = result.scale;
    graph->values[node.results[0]].zero_point = result.zero_point;
    node.clamp = {};
    nodes.push_back(node);
    nodes.push_back(clamp);
  }
  graph->nodes.swap(nodes);
}

void fuse_clamps(Graph* graph) {
  const std::vector<size_t> uses = graph->count_uses();
  std::vector<size_t> producers = graph->producers();
  std::vector<bool> erased(graph->nodes.size());
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    Node& node = graph->nodes[i];
    if (node.kind != NodeKind::Clamp || std::isnan(node.clamp.min) || std::isnan(node.clamp.max)) {
      continue;
    }
    const uint32_t in = node.operand(0), out = node.result();
    if (uses[in] != 1 || !graph->values[in].is_internal() || producers[in] == SIZE_MAX ||
        !have_same_elements(graph->values[in], graph->values[out])) {
      continue;
    }
    Node& producer = graph->nodes[producers[in]];
    if (!clamps(*graph, producer) || producer.result_count != 1) {
      continue;
    }
    // If the two ranges are disjoint, the second clamp decides.
    producer.clamp = {std::min(std::max(producer.clamp.min, node.clamp.min), node.clamp.max),
                      std::max(std::min(producer.clamp.max, node.clamp.max), node.clamp.min)};
    producer.results[0] = out;
    producers[out] = producers[in];
    erased[i] = true;
  }
  graph->remove_nodes(erased);
}

void fuse_paddings(Graph* graph) {
  const std::vector<size_t> uses = graph->count_uses();
  const std::vector<size_t> producers = graph->producers();
  std::vector<bool> erased(graph->nodes.size());
  for (Node& node : graph->nodes) {
    if (!is_convolution(node.kind) || (node.flags & kSamePadding) != 0) {
      continue;
    }
    const uint32_t in = node.operand(0);
    Window2d padding;
    if (uses[in] != 1 || !graph->values[in].is_internal() || producers[in] == SIZE_MAX ||
        !read_image_padding(graph->nodes[producers[in]], &padding) ||
        !have_same_elements(graph->values[graph->nodes[producers[in]].operand(0)],
                            graph->values[in]) ||
        !add_padding(padding, &node.window)) {
      continue;
    }
    node.operands[0] = graph->nodes[producers[in]].operand(0);
    erased[producers[in]] = true;
  }
  graph->remove_nodes(erased);
}

}  // namespace executorch::backends::xnnpack
