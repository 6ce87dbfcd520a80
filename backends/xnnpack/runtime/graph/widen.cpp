// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nodes on float16 or quantized values that compute in float32: conversions before and after them.
#include <functional>
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

/// The values that a pass widens, and the nodes that it does not change.
struct WideningRule {
  std::function<bool(const Value&)> is_narrow;
  std::function<bool(const Node&)> keeps;
};

/// The factor of each element of a quantized constant; its channels are `channel_dim`.
class ConstantScales final {
 public:
  explicit ConstantScales(const Value& value) : value_(value) {
    for (size_t d = value.channel_dim + 1; d < value.declared.rank; ++d) {
      inner_ *= static_cast<size_t>(value.declared.dims[d]);
    }
  }
  float operator[](size_t element) const {
    return value_.channel_scales == nullptr
               ? value_.scale
               : value_
                     .channel_scales[element / inner_ %
                                     static_cast<size_t>(value_.declared.dims[value_.channel_dim])];
  }

 private:
  const Value& value_;
  size_t inner_ = 1;
};

template <typename T>
void dequantize(const Value& from, std::vector<float>* to) {
  const auto* data = static_cast<const T*>(from.data);
  const ConstantScales scales(from);
  to->resize(static_cast<size_t>(elements(from.declared)));
  for (size_t i = 0; i < to->size(); ++i) {
    const double centered = static_cast<double>(data[i]) - from.zero_point;
    (*to)[i] = static_cast<float>(centered * static_cast<double>(scales[i]));
  }
}

void widen_constant(const Value& from, std::vector<float>* to) {
  switch (from.datatype) {
    case Datatype::Float16: {
      const auto* data = static_cast<const executorch::aten::Half*>(from.data);
      to->assign(data, data + elements(from.declared));
      return;
    }
    case Datatype::QUInt8:
      return dequantize<uint8_t>(from, to);
    case Datatype::QInt32:
    case Datatype::QCInt32:
      return dequantize<int32_t>(from, to);
    default:
      return dequantize<int8_t>(from, to);
  }
}

class Widening final {
 public:
  Widening(Graph* graph, WideningRule rule) : graph_(*graph), rule_(std::move(rule)) {}

  void run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    for (Node& node : nodes) {
      if (only_moves(node) || !has_narrow_values(node) || rule_.keeps(node)) {
        graph_.nodes.push_back(node);
      } else {
        widen(node);
      }
    }
  }

 private:
  bool is_narrow(uint32_t id) const { return id != kNoValue && rule_.is_narrow(graph_.values[id]); }

  bool has_narrow_values(const Node& node) const {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (is_narrow(node.operands[i])) {
        return true;
      }
    }
    return is_narrow(node.result());
  }

  void widen(Node node) {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (is_narrow(node.operands[i])) {
        node.operands[i] = widened(node.operands[i]);
      }
    }
    const Node original = node;
    for (size_t r = 0; r < node.result_count; ++r) {
      if (is_narrow(node.results[r])) {
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

  /// The float32 value with the elements of a narrow value.
  uint32_t widened(uint32_t narrow) {
    const auto found = widened_.find(narrow);
    if (found != widened_.end()) {
      return found->second;
    }
    const uint32_t wide = graph_.add_value(Datatype::Float32, narrow);
    widened_[narrow] = wide;
    if (graph_.values[narrow].is_constant()) {
      std::vector<float>& to = graph_.converted[wide];
      widen_constant(graph_.values[narrow], &to);
      graph_.values[wide].data = to.data();
      graph_.values[wide].source_data = graph_.values[narrow].data;
    } else {
      convert(narrow, wide, 0);
    }
    return wide;
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
  WideningRule rule_;
  std::map<uint32_t, uint32_t> widened_;
};

}  // namespace

void widen_float16(Graph* graph) {
  const auto is_float32 = [graph](uint32_t id) {
    return graph->values[id].datatype == Datatype::Float32;
  };
  const auto is_plain_conversion = [&](const Node& node) {
    return node.kind == NodeKind::Convert &&
           (is_float32(node.operand(0)) || is_float32(node.result()));
  };
  Widening(graph, {[](const Value& value) { return value.datatype == Datatype::Float16; },
                   is_plain_conversion})
      .run();
}

void widen_quantized(Graph* graph, const std::function<bool(const Node&)>& runs_on_integers) {
  const auto is_quantized = [](const Value& value) {
    return value.datatype == Datatype::QInt8 || value.datatype == Datatype::QUInt8 ||
           value.datatype == Datatype::QInt32 || value.datatype == Datatype::QCInt8 ||
           value.datatype == Datatype::QCInt32;
  };
  const auto keeps = [&](const Node& node) {
    return node.kind == NodeKind::Convert ||
           graph->values[node.operand(0)].datatype == Datatype::QDInt8 || runs_on_integers(node);
  };
  Widening(graph, {is_quantized, keeps}).run();
}

}  // namespace executorch::backends::xnnpack
