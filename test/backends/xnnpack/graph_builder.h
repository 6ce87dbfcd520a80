// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>

namespace executorch::backends::xnnpack {

/// A graph that is built node by node; every value is [2, 8] unless it says so.
class GraphBuilder final {
 public:
  Graph graph;

  uint32_t input() { return argument(true); }
  uint32_t output() { return argument(false); }
  uint32_t value(Datatype datatype = Datatype::Float32) {
    Value value;
    value.datatype = datatype;
    value.declared = {2, {2, 8}};
    value.shape_source = static_cast<uint32_t>(graph.values.size());
    graph.values.push_back(value);
    return value.shape_source;
  }
  uint32_t constant() {
    const uint32_t id = value();
    graph.values[id].data = graph.values[id].source_data = &kNumber;
    return id;
  }
  Node& node(NodeKind kind, std::vector<uint32_t> operands, uint32_t result) {
    Node node;
    node.kind = kind;
    for (const uint32_t operand : operands) {
      node.operands[node.operand_count++] = operand;
    }
    node.results[node.result_count++] = result;
    graph.nodes.push_back(node);
    return graph.nodes.back();
  }
  /// A linear layer: the kind of product that the tests fuse into.
  Node& product(uint32_t x, uint32_t result) {
    return node(NodeKind::FullyConnected, {x, constant(), kNoValue}, result);
  }
  std::vector<NodeKind> kinds() const {
    std::vector<NodeKind> kinds;
    for (const Node& node : graph.nodes) {
      kinds.push_back(node.kind);
    }
    return kinds;
  }

 private:
  static constexpr float kNumber = 1;

  uint32_t argument(bool is_input) {
    const uint32_t id = value();
    graph.values[id].argument = static_cast<uint32_t>(graph.arguments.size());
    graph.values[id].is_input = is_input;
    graph.arguments.push_back(id);
    graph.input_count += is_input ? 1 : 0;
    return id;
  }
};

}  // namespace executorch::backends::xnnpack
