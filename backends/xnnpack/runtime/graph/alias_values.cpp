// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <numeric>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

namespace executorch::backends::xnnpack {
namespace {

class Aliases final {
 public:
  explicit Aliases(const Graph& graph) : graph_(graph), parents_(graph.values.size()) {
    std::iota(parents_.begin(), parents_.end(), uint32_t{0});
  }

  uint32_t root(uint32_t id) const {
    while (parents_[id] != id) {
      id = parents_[id];
    }
    return id;
  }

  /// Places `to` in the memory of `from`. Returns false if that is not possible.
  bool join(uint32_t from, uint32_t to) {
    const uint32_t source = root(from);
    if (graph_.values[to].is_internal()) {
      parents_[to] = source;
      return true;
    }
    // The source of an output is computed in the output's memory.
    if (graph_.values[source].is_internal() && !graph_.values[to].is_input) {
      parents_[source] = to;
      return true;
    }
    return false;
  }

 private:
  const Graph& graph_;
  std::vector<uint32_t> parents_;
};

}  // namespace

std::vector<uint32_t> alias_values(Graph* graph) {
  Aliases aliases(*graph);
  std::vector<Node> kept;
  for (const Node& node : graph->nodes) {
    const bool copies = node.kind == NodeKind::StaticReshape || node.kind == NodeKind::Copy;
    if (!copies ||
        !have_same_elements(graph->values[node.operand(0)], graph->values[node.result()]) ||
        !aliases.join(node.operand(0), node.result())) {
      kept.push_back(node);
    }
  }
  graph->nodes.swap(kept);
  std::vector<uint32_t> roots(graph->values.size());
  for (uint32_t id = 0; id < roots.size(); ++id) {
    roots[id] = aliases.root(id);
  }
  return roots;
}

}  // namespace executorch::backends::xnnpack
