// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <map>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch::backends::xnnpack {
namespace {

/// Nodes that move elements unchanged, whatever they are.
bool only_moves(const Node& node) {
  switch (node.kind) {
    case NodeKind::StaticTranspose:
    case NodeKind::StaticConstantPad:
    case NodeKind::StaticReshape:
    case NodeKind::StaticSlice:
    case NodeKind::Concatenate2:
    case NodeKind::Concatenate3:
    case NodeKind::Concatenate4:
    case NodeKind::Concatenate5:
    case NodeKind::Copy:
      return true;
    default:
      return false;
  }
}

class Widening final {
 public:
  explicit Widening(Graph* graph) : graph_(*graph) {}

  void run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    for (Node& node : nodes) {
      if (only_moves(node) || !has_halves(node) || is_plain_conversion(node)) {
        graph_.nodes.push_back(node);
      } else {
        widen(node);
      }
    }
  }

 private:
  bool is_half(uint32_t id) const {
    return id != kNoValue && graph_.values[id].datatype == Datatype::Float16;
  }

  bool has_halves(const Node& node) const {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (is_half(node.operands[i])) {
        return true;
      }
    }
    return is_half(node.result());
  }

  bool is_plain_conversion(const Node& node) const {
    return node.kind == NodeKind::Convert &&
           (graph_.values[node.operand(0)].datatype == Datatype::Float32 ||
            graph_.values[node.result()].datatype == Datatype::Float32);
  }

  void widen(Node node) {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (is_half(node.operands[i])) {
        node.operands[i] = widened(node.operands[i]);
      }
    }
    const Node original = node;
    for (size_t r = 0; r < node.result_count; ++r) {
      if (is_half(node.results[r])) {
        node.results[r] = graph_.add_value(Datatype::Float32, node.results[r]);
      }
    }
    graph_.nodes.push_back(node);
    for (size_t r = 0; r < node.result_count; ++r) {
      if (node.results[r] != original.results[r]) {
        convert(node.results[r], original.results[r], node.debug_handle);
      }
    }
  }

  /// The float32 value with the elements of a float16 value.
  uint32_t widened(uint32_t half) {
    const auto found = widened_.find(half);
    if (found != widened_.end()) {
      return found->second;
    }
    const uint32_t wide = graph_.add_value(Datatype::Float32, half);
    widened_[half] = wide;
    if (graph_.values[half].is_constant()) {
      convert_constant(half, wide);
    } else {
      convert(half, wide, 0);
    }
    return wide;
  }

  void convert_constant(uint32_t half, uint32_t wide) {
    const Value& from = graph_.values[half];
    const auto* data = static_cast<const executorch::aten::Half*>(from.data);
    std::vector<float>& to = graph_.converted[wide];
    to.assign(data, data + elements(from.declared));
    graph_.values[wide].data = to.data();
    graph_.values[wide].source_data = from.data;
  }

  void convert(uint32_t from, uint32_t to, uint32_t debug_handle) {
    Node node;
    node.kind = NodeKind::Convert;
    node.debug_handle = debug_handle;
    node.operands[0] = from;
    node.operand_count = 1;
    node.results[0] = to;
    node.result_count = 1;
    graph_.nodes.push_back(node);
  }

  Graph& graph_;
  std::map<uint32_t, uint32_t> widened_;
};

}  // namespace

void widen_float16(Graph* graph) { Widening(graph).run(); }

}  // namespace executorch::backends::xnnpack
