// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>

namespace executorch::backends::xnnpack {

/// The common part of passes that fuse several float32 nodes into one.
class SubgraphFusion {
 protected:
  explicit SubgraphFusion(Graph* graph)
      : graph_(*graph),
        uses_(graph->count_uses()),
        producers_(graph->producers()),
        erased_(graph->nodes.size(), false) {}
  ~SubgraphFusion() = default;

  /// Calls `fuse(i)` for each node, then removes the nodes that it erased.
  template <typename Fuse>
  void fuse_all(const Fuse& fuse) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      fuse(i);
    }
    graph_.remove_nodes(erased_);
  }

  bool is_float(uint32_t id) const { return graph_.values[id].datatype == Datatype::Float32; }

  /// Returns the node that computes the internal float32 value `id` for `uses` reads, if it has
  /// neither a fused operation nor a clamp; else null.
  const Node* plain_producer(uint32_t id, size_t uses) const {
    if (!is_float(id) || !graph_.values[id].is_internal() || uses_[id] != uses ||
        producers_[id] == SIZE_MAX || erased_[producers_[id]]) {
      return nullptr;
    }
    const Node& node = graph_.nodes[producers_[id]];
    return node.fused == Fused::No && node.clamp.is_none() ? &node : nullptr;
  }

  /// The part of a match that all passes have.
  struct Match {
    std::vector<size_t> inner;  ///< nodes that become part of the fused one
  };

  /// Returns the plain producer of `id` as an inner node of the match, if it has this kind; else
  /// null.
  const Node* inner(Match* match, uint32_t id, NodeKind kind, size_t uses) const {
    const Node* const node = plain_producer(id, uses);
    if (node == nullptr || node->kind != kind) {
      return nullptr;
    }
    match->inner.push_back(producers_[id]);
    return node;
  }

  void erase_inner(const Match& match) {
    for (const size_t node : match.inner) {
      erased_[node] = true;
    }
  }

  Graph& graph_;
  std::vector<size_t> uses_;       ///< reads of each value
  std::vector<size_t> producers_;  ///< the node that computes each value, SIZE_MAX if none does
  std::vector<bool> erased_;       ///< nodes that a fused node replaces
};

}  // namespace executorch::backends::xnnpack
