// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Replaces dequantization, functions of each element and quantization by one table of 256 results.
//
//   int8 ─▶ Convert ─▶ Sigmoid ─▶ Multiply ─▶ Convert ─▶ int8
//                └──────────────────▲
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/fuse/subgraph_fusion.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {
namespace {

bool is_function_of_element(const Node& node) {
  switch (node.kind) {
    case NodeKind::Abs:
    case NodeKind::BankersRounding:
    case NodeKind::Ceiling:
    case NodeKind::Clamp:
    case NodeKind::Cos:
    case NodeKind::ELU:
    case NodeKind::Exp:
    case NodeKind::Floor:
    case NodeKind::Gelu:
    case NodeKind::Hardswish:
    case NodeKind::LeakyReLU:
    case NodeKind::Log:
    case NodeKind::Negate:
    case NodeKind::ReciprocalSquareRoot:
    case NodeKind::Sigmoid:
    case NodeKind::Sign:
    case NodeKind::Sin:
    case NodeKind::Square:
    case NodeKind::SquareRoot:
    case NodeKind::Tanh:
    case NodeKind::Add:
    case NodeKind::CopySign:
    case NodeKind::Div:
    case NodeKind::Maximum:
    case NodeKind::Minimum:
    case NodeKind::Multiply:
    case NodeKind::Subtract:
      return node.fused == Fused::No || node.fused == Fused::Silu;
    default:
      return false;
  }
}

class LookupFusion final : SubgraphFusion {
 public:
  explicit LookupFusion(Graph* graph) : SubgraphFusion(graph) {}

  void run() {
    fuse_all([this](size_t i) { fuse(i); });
  }

 private:
  /// The nodes between one value of bytes and a quantization.
  struct Chain {
    uint32_t source = kNoValue;
    /// In execution order, without the quantization.
    std::vector<size_t> nodes;
    bool is_dequantized = false;
  };

  Datatype datatype(uint32_t id) const { return graph_.values[id].datatype; }

  bool is_scalar(uint32_t id) const {
    const Value& value = graph_.values[id];
    return value.is_constant() && value.datatype == Datatype::Float32 &&
           elements(value.declared) == 1;
  }

  /// Adds the nodes that compute a float32 value to the chain; false if it depends on more than one
  /// value of bytes, or is too long.
  bool collect(uint32_t id, Chain* chain, size_t depth = 0) const {
    if (is_scalar(id)) {
      return true;
    }
    if (!is_float(id) || !graph_.values[id].is_internal() || producers_[id] == SIZE_MAX) {
      return false;
    }
    const size_t index = producers_[id];
    std::vector<size_t>& nodes = chain->nodes;
    if (std::find(nodes.begin(), nodes.end(), index) != nodes.end()) {
      return true;
    }
    const Node& node = graph_.nodes[index];
    if (node.kind == NodeKind::Convert) {
      const uint32_t source = node.operand(0);
      if (!is_byte(datatype(source)) || (chain->source != kNoValue && chain->source != source)) {
        return false;
      }
      chain->source = source;
    } else {
      if (!is_function_of_element(node) || nodes.size() >= kMaxNodes || depth >= kMaxNodes) {
        return false;
      }
      for (size_t i = 0; i < node.operand_count; ++i) {
        if (node.operand(i) == kNoValue || !collect(node.operand(i), chain, depth + 1)) {
          return false;
        }
      }
    }
    nodes.push_back(index);
    return true;
  }

  /// The reads of a value by the chain and by the quantization.
  size_t uses_in(const Chain& chain, const Node& quantization, uint32_t id) const {
    size_t uses = quantization.operand(0) == id ? 1 : 0;
    for (const size_t index : chain.nodes) {
      const Node& node = graph_.nodes[index];
      uses +=
          static_cast<size_t>(std::count(node.operands, node.operands + node.operand_count, id));
    }
    return uses;
  }

  /// True if dequantizing and quantizing again gives the same bytes: scales at which float32 can
  /// neither overflow nor lose bits.
  bool is_identity(const Chain& chain, const Node& quantization) const {
    const Value& from = graph_.values[chain.source];
    return chain.nodes.size() == 1 && from.scale > 1e-30f && from.scale < 1e30f &&
           have_same_elements(from, graph_.values[quantization.result()]);
  }

  void fuse(size_t index) {
    Node& node = graph_.nodes[index];
    Chain chain;
    if (node.kind != NodeKind::Convert || !is_byte(datatype(node.result())) ||
        !collect(node.operand(0), &chain) || chain.source == kNoValue) {
      return;
    }
    std::vector<size_t> outside;
    for (const size_t index : chain.nodes) {
      const Node& inner = graph_.nodes[index];
      const size_t inside = uses_in(chain, node, inner.result());
      outside.push_back(uses_[inner.result()] - inside);
      if (outside.back() != 0 && inner.kind != NodeKind::Convert) {
        return;
      }
    }
    if (is_identity(chain, node)) {
      node.kind = NodeKind::Copy;
    } else {
      std::vector<Node> steps;
      for (const size_t index : chain.nodes) {
        steps.push_back(graph_.nodes[index]);
      }
      steps.push_back(node);
      node.fused = Fused::Lookup;
      node.lookup = graph_.lookups.size();
      graph_.lookups.push_back(std::move(steps));
    }
    for (size_t i = 0; i < chain.nodes.size(); ++i) {
      const uint32_t result = graph_.nodes[chain.nodes[i]].result();
      uses_[result] = outside[i];
      erased_[chain.nodes[i]] = outside[i] == 0;
    }
    node.operands[0] = chain.source;
    node.operand_count = 1;
  }

  static constexpr size_t kMaxNodes = 32;
};

}  // namespace

void fuse_lookups(Graph* graph) { LookupFusion(graph).run(); }

}  // namespace executorch::backends::xnnpack
