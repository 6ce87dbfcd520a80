// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses activations and additions into the product before them, and into quantized products also
// the clamp after the addition.
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/kernels/engine/eltwise/qsum.h>

namespace executorch::backends::xnnpack {
namespace {

using Activation = kernels::engine::Activation;

Activation activation_of(const Node& node) {
  if (node.fused == Fused::Silu) {
    return Activation::Silu;
  }
  switch (node.kind) {
    case NodeKind::Sigmoid:
      return Activation::Sigmoid;
    case NodeKind::Hardswish:
      return Activation::Hardswish;
    case NodeKind::Gelu:
      return Activation::Gelu;
    case NodeKind::Tanh:
      return Activation::Tanh;
    default:
      return Activation::None;
  }
}

class EpilogueFusion final {
 public:
  EpilogueFusion(Graph* graph, const std::function<bool(const Node&)>& has_epilogue)
      : graph_(*graph), has_epilogue_(has_epilogue) {}

  void run() {
    uses_ = graph_.count_uses();
    producers_ = graph_.producers();
    erased_.assign(graph_.nodes.size(), false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!fuse_addition(i) && !fuse_activation(i)) {
        fuse_clamp(i);
      }
    }
    graph_.remove_nodes(erased_);
  }

 private:
  /// Returns the product that computes `id`, if `id` has a single reader; null for other producers.
  Node* product_of(uint32_t id) {
    if (uses_[id] != 1 || !graph_.values[id].is_internal() || producers_[id] == SIZE_MAX) {
      return nullptr;
    }
    Node& node = graph_.nodes[producers_[id]];
    return node.activation == Activation::None && has_epilogue_(node) ? &node : nullptr;
  }

  bool are_float(uint32_t a, uint32_t b) const {
    return graph_.values[a].datatype == Datatype::Float32 &&
           graph_.values[b].datatype == Datatype::Float32;
  }

  /// Removes the node that reads the product's result; the product computes that node's result.
  void replace(size_t index, Node* product) {
    const Node& node = graph_.nodes[index];
    product->results[0] = node.result();
    producers_[node.result()] = producers_[node.operand(0)];
    erased_[index] = true;
  }

  bool fuse_activation(size_t index) {
    const Node& node = graph_.nodes[index];
    const Activation activation = activation_of(node);
    if (activation == Activation::None || !are_float(node.operand(0), node.result())) {
      return false;
    }
    Node* const product = product_of(node.operand(0));
    if (product == nullptr) {
      return false;
    }
    product->activation = activation;
    replace(index, product);
    return true;
  }

  void fuse_clamp(size_t index) {
    const Node& node = graph_.nodes[index];
    if (node.kind != NodeKind::Clamp || node.fused != Fused::No ||
        graph_.values[node.result()].datatype != Datatype::QInt8 ||
        !have_same_elements(graph_.values[node.operand(0)], graph_.values[node.result()])) {
      return;
    }
    Node* const product = product_of(node.operand(0));
    if (product == nullptr || product->residual == kNoValue || !product->clamp.is_none()) {
      return;
    }
    product->clamp = node.clamp;
    replace(index, product);
  }

  /// True for int8 values whose sum the engine computes.
  bool are_addable(uint32_t product, uint32_t other, uint32_t result) const {
    const Value &a = graph_.values[product], &b = graph_.values[other], &c = graph_.values[result];
    return a.datatype == Datatype::QInt8 && b.datatype == Datatype::QInt8 &&
           c.datatype == Datatype::QInt8 &&
           kernels::engine::QSum::can_add(a.scale, b.scale, c.scale);
  }

  /// Fuses an addition into the product that computes one of its operands. Moves the product to the
  /// addition's position, because the other operand may be computed in between.
  bool fuse_addition(size_t index) {
    Node& node = graph_.nodes[index];
    if (node.kind != NodeKind::Add || node.fused != Fused::No ||
        node.operand(0) == node.operand(1)) {
      return false;
    }
    const bool is_float = are_float(node.operand(0), node.result());
    if (!is_float && !are_addable(node.operand(0), node.operand(1), node.result())) {
      return false;
    }
    for (const size_t side : {size_t{1}, size_t{0}}) {
      const uint32_t in = node.operand(side), other = node.operand(1 - side);
      Node* const product = product_of(in);
      if (product == nullptr || product->residual != kNoValue ||
          (is_float && !product->clamp.is_none()) || !may_be_residual(in, other, node.result())) {
        continue;
      }
      const size_t from = producers_[in];
      Node moved = *product;
      moved.residual = other;
      moved.unfused = in;
      moved.unfused_clamp = product->clamp;
      moved.clamp = node.clamp;
      moved.results[0] = node.result();
      node = moved;
      erased_[from] = true;
      producers_[node.result()] = index;
      return true;
    }
    return false;
  }

  /// True if the operand has the product's shape at the largest sizes; at other sizes, the operator
  /// may add it after the product.
  bool may_be_residual(uint32_t product, uint32_t other, uint32_t result) const {
    const Shape &a = graph_.values[product].declared, &b = graph_.values[other].declared,
                &c = graph_.values[result].declared;
    return a.rank == b.rank && a.rank == c.rank && std::equal(a.dims, a.dims + a.rank, b.dims) &&
           std::equal(a.dims, a.dims + a.rank, c.dims);
  }

  Graph& graph_;
  const std::function<bool(const Node&)>& has_epilogue_;
  std::vector<size_t> uses_, producers_;
  std::vector<bool> erased_;
};

}  // namespace

void fuse_epilogues(Graph* graph, const std::function<bool(const Node&)>& has_epilogue) {
  EpilogueFusion(graph, has_epilogue).run();
}

}  // namespace executorch::backends::xnnpack
