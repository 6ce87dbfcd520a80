// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses attention. A payload expresses it as a product of queries and keys, a softmax and a product
// with values. Between them may be a mask, constant factors, reshapes of the batch and changes of
// layout. A selection may replace scores before the softmax.
#include <string.h>

#include <algorithm>
#include <cmath>

#include <executorch/backends/xnnpack/runtime/graph/fuse/subgraph_fusion.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::internal::count;

class AttentionFusion final : SubgraphFusion {
 public:
  AttentionFusion(Graph* graph, const TakesAttention& takes)
      : SubgraphFusion(graph), takes_(takes) {}

  void run() {
    readers_.assign(graph_.values.size(), SIZE_MAX);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      readers_[graph_.nodes[i].operand(0)] = i;
    }
    fuse_all([this](size_t i) { fuse(i); });
  }

 private:
  struct AttentionMatch : Match {
    bool steps_over_reshapes = true;  ///< reads operands through reshapes
    uint32_t operands[FusedAttention::kOperands] = {kNoValue, kNoValue, kNoValue, kNoValue,
                                                    kNoValue};
    uint32_t scores = kNoValue;
    FusedAttention attention;
    /// The reshape of queries that follows a multiplication by a factor, and the operand of that
    /// multiplication.
    size_t reshape = SIZE_MAX;
    uint32_t unscaled = kNoValue;
  };

  const Shape& shape(uint32_t id) const { return graph_.values[id].declared; }

  /// Returns the plain producer of `id` if `id` has one reader and is computed from float32; else
  /// null.
  const Node* maker(uint32_t id) const {
    const Node* const node = plain_producer(id, 1);
    return node != nullptr && is_float(node->operand(0)) ? node : nullptr;
  }
  const Node* maker(uint32_t id, NodeKind kind) const {
    const Node* const node = maker(id);
    return node != nullptr && node->kind == kind ? node : nullptr;
  }
  void take(AttentionMatch* match, uint32_t id) { match->inner.push_back(producers_[id]); }

  /// True if a reshape keeps the two last dimensions for inputs of any size.
  bool keeps_matrices(const Node& node) const {
    const auto* sizes = node.as<fb::StaticReshape>().new_shape();
    const Shape& from = shape(node.operand(0));
    const size_t rank = count(sizes);
    if (rank < 2 || from.rank < 2 || graph_.values[node.operand(0)].is_constant()) {
      return false;
    }
    for (size_t i = 1; i <= 2; ++i) {
      const uint32_t size = sizes->Get(static_cast<uint32_t>(rank - i));
      if (size == 0 || size != from.dims[from.rank - i]) {
        return false;
      }
    }
    return true;
  }

  /// Steps back over reshapes that keep the two last dimensions.
  uint32_t skip_batch_reshapes(AttentionMatch* match, uint32_t id) {
    for (const Node* node = maker(id, NodeKind::StaticReshape);
         node != nullptr && keeps_matrices(*node); node = maker(id, NodeKind::StaticReshape)) {
      take(match, id);
      id = node->operand(0);
    }
    return id;
  }

  /// Steps back over a multiplication or division by a constant number, and applies it to the
  /// scale.
  uint32_t skip_factor(AttentionMatch* match, uint32_t id) {
    const Node* const node = maker(id);
    if (node == nullptr || (node->kind != NodeKind::Multiply && node->kind != NodeKind::Div)) {
      return id;
    }
    const size_t side = graph_.values[node->operand(1)].is_constant() ? 1 : 0;
    const Value& factor = graph_.values[node->operand(side)];
    const uint32_t other = node->operand(1 - side);
    if (!factor.is_constant() || factor.datatype != Datatype::Float32 ||
        elements(factor.declared) != 1 || factor.declared.rank > shape(other).rank ||
        !is_float(other) || (node->kind == NodeKind::Div && side == 0)) {
      return id;
    }
    float number = 0;
    memcpy(&number, factor.data, sizeof(number));
    const float scale =
        match->attention.scale * (node->kind == NodeKind::Div ? 1 / number : number);
    if (!std::isnormal(number) || !std::isnormal(scale)) {
      return id;
    }
    match->attention.scale = scale;
    take(match, id);
    return other;
  }

  /// Reads a transposition: dimension d of its result is dimension order[d] of its operand. Returns
  /// false if the rank differs.
  static bool read_order(const Node& node, size_t rank, uint8_t* order) {
    const auto* from = node.as<fb::StaticTranspose>().perm();
    if (count(from) != rank) {
      return false;
    }
    for (size_t d = 0; d < rank; ++d) {
      order[d] = static_cast<uint8_t>(from->Get(static_cast<uint32_t>(d)));
    }
    return true;
  }

  /// Steps back over changes of layout (queries keep their channels contiguous) and, for
  /// queries, over factors.
  void read_operand(AttentionMatch* match, size_t which, uint32_t id) {
    uint8_t* const order = match->attention.orders[which];
    const bool is_query = which == FusedAttention::kQuery;
    id = is_query ? skip_factor(match, id) : id;
    if (match->steps_over_reshapes) {
      id = skip_batch_reshapes(match, id);
      id = is_query ? skip_factor(match, id) : id;
    }
    const size_t rank = shape(id).rank;
    const Node* const node = maker(id, NodeKind::StaticTranspose);
    uint8_t read[Shape::kMaxRank];
    if (node != nullptr && read_order(*node, rank, read) &&
        !graph_.values[node->operand(0)].is_constant() &&
        (!is_query || read[rank - 1] == rank - 1)) {
      std::copy_n(read, rank, order);
      take(match, id);
      id = node->operand(0);
    }
    if (is_query) {
      id = skip_factor(match, id);
      skip_factor_before_reshape(match, id);
    }
    match->operands[which] = id;
  }

  void skip_factor_before_reshape(AttentionMatch* match, uint32_t id) {
    const Node* const node = maker(id, NodeKind::StaticReshape);
    if (node == nullptr) {
      return;
    }
    const uint32_t unscaled = skip_factor(match, node->operand(0));
    if (unscaled != node->operand(0)) {
      match->reshape = producers_[id];
      match->unscaled = unscaled;
    }
  }

  /// True if a mask does not make scores larger.
  bool fits(uint32_t mask, const Shape& scores) const {
    Shape sum;
    return broadcast(shape(mask), scores, &sum) && sum.rank == scores.rank &&
           std::equal(sum.dims, sum.dims + sum.rank, scores.dims);
  }

  /// Steps back over a selection between scores and one constant number.
  uint32_t skip_selection(AttentionMatch* match, uint32_t id) {
    const Node* const node = plain_producer(id, 1);
    if (node == nullptr || node->kind != NodeKind::Select || node->fused != Fused::No) {
      return id;
    }
    const size_t side = graph_.values[node->operand(1)].is_constant() ? 1 : 2;
    const Value& score = graph_.values[node->operand(side)];
    const uint32_t other = node->operand(3 - side);
    if (!score.is_constant() || score.datatype != Datatype::Float32 ||
        elements(score.declared) != 1 || shape(other).rank != shape(id).rank ||
        score.declared.rank > shape(id).rank || !is_float(other) ||
        !fits(node->operand(0), shape(other)) ||
        !std::equal(shape(id).dims, shape(id).dims + shape(id).rank, shape(other).dims)) {
      return id;
    }
    memcpy(&match->attention.replacement, score.data, sizeof(float));
    match->attention.replaces_true = side == 1;
    match->operands[FusedAttention::kReplaced] = node->operand(0);
    take(match, id);
    return skip_batch_reshapes(match, other);
  }

  bool find(AttentionMatch* match, const Node& last) {
    uint32_t id = skip_batch_reshapes(match, last.operand(0));
    const Node* const softmax = maker(id, NodeKind::Softmax);
    if (softmax == nullptr || shape(id).rank < 2) {
      return false;
    }
    take(match, id);
    match->scores = id;
    const Shape& scores = shape(id);
    id = skip_batch_reshapes(match, softmax->operand(0));
    id = skip_selection(match, id);
    const Node* const sum = maker(id, NodeKind::Add);
    if (sum != nullptr) {
      const size_t side = find_scores(*sum);
      const uint32_t mask = side < 2 ? sum->operand(1 - side) : kNoValue;
      if (mask == kNoValue || !is_float(mask) || shape(id).rank != scores.rank ||
          !fits(mask, shape(id)) ||
          !std::equal(scores.dims, scores.dims + scores.rank, shape(id).dims)) {
        return false;
      }
      match->operands[FusedAttention::kMask] = mask;
      take(match, id);
      id = skip_batch_reshapes(match, sum->operand(side));
    }
    id = skip_batch_reshapes(match, skip_factor(match, id));
    const Node* const first = maker(id, NodeKind::BatchMatrixMultiply);
    if (first == nullptr || first->precision != last.precision) {
      return false;
    }
    take(match, id);
    if (shape(first->result()).rank > scores.rank) {
      match->scores = first->result();
    }
    match->attention.keys_are_rows = (first->flags & kTransposeWeights) != 0;
    match->attention.values_are_columns = (last.flags & kTransposeWeights) != 0;
    read_operand(match, FusedAttention::kQuery, first->operand(0));
    read_operand(match, FusedAttention::kKey, first->operand(1));
    read_operand(match, FusedAttention::kValue, last.operand(1));
    return true;
  }

  /// Index of the sum's operand that is a product, seen through reshapes and factors; 2 if neither
  /// is.
  size_t find_scores(const Node& sum) {
    for (size_t side = 0; side < 2; ++side) {
      AttentionMatch ignored;
      uint32_t id = skip_batch_reshapes(&ignored, sum.operand(side));
      id = skip_batch_reshapes(&ignored, skip_factor(&ignored, id));
      if (maker(id, NodeKind::BatchMatrixMultiply) != nullptr &&
          shape(sum.operand(side)).rank == shape(sum.result()).rank) {
        return side;
      }
    }
    return 2;
  }

  /// The only reader of `id`, if it is of this kind and reads float32.
  size_t reader(uint32_t id, NodeKind kind) const {
    if (!graph_.values[id].is_internal() || uses_[id] != 1) {
      return SIZE_MAX;
    }
    const size_t index = readers_[id];
    if (index == SIZE_MAX || erased_[index]) {
      return SIZE_MAX;
    }
    const Node& node = graph_.nodes[index];
    const bool is_plain = node.fused == Fused::No && node.clamp.is_none();
    return node.kind == kind && is_plain && node.operand(0) == id && is_float(node.result())
               ? index
               : SIZE_MAX;
  }

  /// If the only reader of the results changes their layout, the fused node writes that layout.
  void read_result(Node* fused, std::vector<size_t>* inner) const {
    size_t reshape = reader(fused->result(), NodeKind::StaticReshape);
    if (reshape != SIZE_MAX && !keeps_matrices(graph_.nodes[reshape])) {
      reshape = SIZE_MAX;
    }
    const uint32_t id = reshape == SIZE_MAX ? fused->result() : graph_.nodes[reshape].result();
    const size_t transpose = reader(id, NodeKind::StaticTranspose), rank = shape(id).rank;
    uint8_t read[Shape::kMaxRank];
    if (transpose == SIZE_MAX || !read_order(graph_.nodes[transpose], rank, read) ||
        read[rank - 1] != rank - 1) {
      return;
    }
    std::copy_n(read, rank, fused->attention.orders[FusedAttention::kResult]);
    fused->results[0] = graph_.nodes[transpose].result();
    inner->push_back(transpose);
    if (reshape != SIZE_MAX) {
      inner->push_back(reshape);
    }
  }

  void fuse(size_t index) {
    const Node& last = graph_.nodes[index];
    if (last.kind != NodeKind::BatchMatrixMultiply || last.fused != Fused::No || erased_[index] ||
        !last.clamp.is_none() || !is_float(last.operand(0)) || !is_float(last.operand(1)) ||
        !is_float(last.result())) {
      return;
    }
    for (const bool steps_over_reshapes : {true, false}) {
      for (const bool writes_layout : {true, false}) {
        AttentionMatch match;
        match.steps_over_reshapes = steps_over_reshapes;
        if (find(&match, last) && commit(index, &match, writes_layout)) {
          return;
        }
      }
    }
  }

  /// Replaces the nodes of a match, if the engine supports their tensors.
  bool commit(size_t index, AttentionMatch* match, bool writes_layout) {
    Node fused = graph_.nodes[index];
    fused.fused = Fused::Attention;
    fused.attention = match->attention;
    std::copy_n(match->operands, FusedAttention::kOperands, fused.operands);
    fused.operand_count = FusedAttention::kOperands;
    fused.unfused = match->scores;
    if (writes_layout) {
      read_result(&fused, &match->inner);
    }
    if (!takes_(graph_, fused)) {
      return false;
    }
    erase_inner(*match);
    if (match->reshape != SIZE_MAX) {
      graph_.nodes[match->reshape].operands[0] = match->unscaled;
    }
    producers_[fused.result()] = index;
    graph_.nodes[index] = fused;
    return true;
  }

  const TakesAttention& takes_;
  /// By value: the last node that reads it as first operand; SIZE_MAX if there is none.
  std::vector<size_t> readers_;
};

}  // namespace

void fuse_attention(Graph* graph, const TakesAttention& takes) {
  AttentionFusion(graph, takes).run();
}

}  // namespace executorch::backends::xnnpack
