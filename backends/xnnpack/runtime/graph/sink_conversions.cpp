// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Moves dequantizations after slices and reshapes, which then move a quarter of the bytes.
#include <map>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>

namespace executorch::backends::xnnpack {
namespace {

/// Transposes stay on float32: those of bytes are slower.
bool only_selects(const Node& node) {
  return node.kind == NodeKind::StaticSlice || node.kind == NodeKind::StaticReshape ||
         node.kind == NodeKind::Copy;
}

class ConversionSinking final {
 public:
  explicit ConversionSinking(Graph* graph) : graph_(*graph), is_sinkable_(graph->values.size()) {
    const std::vector<size_t> uses = graph->count_uses();
    std::vector<size_t> selections(uses.size());
    for (const Node& node : graph->nodes) {
      if (only_selects(node)) {
        ++selections[node.operand(0)];
      }
    }
    for (size_t id = 0; id < uses.size(); ++id) {
      const Value& value = graph->values[id];
      is_sinkable_[id] = value.datatype == Datatype::Float32 && value.is_internal() &&
                         uses[id] != 0 && uses[id] == selections[id];
    }
  }

  void run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    for (Node& node : nodes) {
      const auto source = bytes_.find(node.operand(0));
      if (only_selects(node) && source != bytes_.end()) {
        select(node, source->second);
      } else if (is_dequantization(node) && is_sinkable_[node.result()]) {
        bytes_[node.result()] = node.operand(0);
      } else {
        graph_.nodes.push_back(node);
      }
    }
  }

 private:
  bool is_dequantization(const Node& node) const {
    return node.kind == NodeKind::Convert && node.fused == Fused::No &&
           is_byte(graph_.values[node.operand(0)].datatype);
  }

  /// Selects from bytes; dequantizes the result where something else reads it.
  void select(Node node, uint32_t source) {
    const uint32_t wide = node.result();
    const Value from = graph_.values[source];
    const uint32_t narrow = graph_.add_value(from.datatype, wide);
    graph_.values[narrow].scale = from.scale;
    graph_.values[narrow].zero_point = from.zero_point;
    node.operands[0] = source;
    node.results[0] = narrow;
    graph_.nodes.push_back(node);
    if (is_sinkable_[wide]) {
      bytes_[wide] = narrow;
      return;
    }
    Node conversion;
    conversion.kind = NodeKind::Convert;
    conversion.debug_handle = node.debug_handle;
    conversion.operands[0] = narrow;
    conversion.results[0] = wide;
    conversion.operand_count = conversion.result_count = 1;
    graph_.nodes.push_back(conversion);
  }

  Graph& graph_;
  /// By value: whether only selections read it.
  std::vector<bool> is_sinkable_;
  /// By value: the bytes that its removed dequantization read.
  std::map<uint32_t, uint32_t> bytes_;
};

}  // namespace

void sink_conversions(Graph* graph) { ConversionSinking(graph).run(); }

}  // namespace executorch::backends::xnnpack
