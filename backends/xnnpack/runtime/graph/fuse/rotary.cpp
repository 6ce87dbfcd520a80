// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses rotary position embeddings. A payload expresses them as slices of the two channels of each
// pair, four products with tables of cosines and sines, a difference, a sum and a concatenation:
//
//   [low * cos - high * sin, high * cos + low * sin]
//
// or, with tables of all channels, x * cos + [-high, low] * sin. Pairs are channels of the two
// halves or, between reshapes, neighbors.
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/fuse/subgraph_fusion.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::internal::count;

class RotaryFusion final : SubgraphFusion {
 public:
  explicit RotaryFusion(Graph* graph) : SubgraphFusion(graph) {}

  void run() {
    fuse_all([this](size_t i) { fuse(i); });
  }

 private:
  struct Rotation : Match {
    uint32_t x = kNoValue, cos = kNoValue, sin = kNoValue;
    uint64_t pairs = 0;
    bool are_neighbors = false, has_tables_of_channels = false;
    /// Reads of x by the inner nodes.
    size_t reads = 0;
  };

  const Shape& shape(uint32_t id) const { return graph_.values[id].declared; }
  static uint64_t last(const Shape& shape) { return shape.dims[shape.rank - 1]; }

  /// True if the first `rank` dimensions are equal.
  static bool have_equal_leading_dims(const Shape& a, const Shape& b, size_t rank) {
    return a.rank >= rank && b.rank >= rank && std::equal(a.dims, a.dims + rank, b.dims);
  }

  /// The offset of a slice of the last dimension; SIZE_MAX for another slice.
  size_t offset_of(const Node& node) const {
    const auto* offsets = node.as<fb::StaticSlice>().offsets();
    const Shape &from = shape(node.operand(0)), &to = shape(node.result());
    if (from.rank == 0 || count(offsets) != from.rank || from.rank != to.rank ||
        !have_equal_leading_dims(from, to, from.rank - 1)) {
      return SIZE_MAX;
    }
    for (uint32_t d = 0; d + 1 < from.rank; ++d) {
      if (offsets->Get(d) != 0) {
        return SIZE_MAX;
      }
    }
    return offsets->Get(static_cast<uint32_t>(from.rank - 1));
  }

  /// Finds the tensor whose pairs have the channels of `id` as first (0) or second (1) channels.
  bool find_channels(Rotation* rotation, uint32_t id, size_t which, size_t uses) {
    const Node* part = plain_producer(id, uses);
    if (part == nullptr || shape(id).rank == 0) {
      return false;
    }
    const bool are_neighbors = part->kind == NodeKind::StaticReshape;
    rotation->inner.push_back(producers_[id]);
    uint32_t x = part->operand(0);
    const uint64_t pairs = last(shape(id));
    if (are_neighbors) {
      part = inner(rotation, x, NodeKind::StaticSlice, 1);
      if (part == nullptr || last(shape(x)) != 1 ||
          !are_pairs(shape(part->operand(0)), shape(id)) || offset_of(*part) != which) {
        return false;
      }
      const Node* const split = inner(rotation, part->operand(0), NodeKind::StaticReshape, 2);
      if (split == nullptr) {
        return false;
      }
      x = split->operand(0);
    } else if (part->kind != NodeKind::StaticSlice || offset_of(*part) != which * pairs) {
      return false;
    }
    rotation->reads += are_neighbors ? 0 : 1;
    const bool fits =
        is_float(x) && !graph_.values[x].is_constant() && shape(x).rank == shape(id).rank &&
        last(shape(x)) == 2 * pairs &&
        have_equal_leading_dims(shape(x), shape(id), shape(id).rank - 1) &&
        (rotation->x == kNoValue || (rotation->x == x && rotation->are_neighbors == are_neighbors));
    rotation->x = x;
    rotation->pairs = pairs;
    rotation->are_neighbors = are_neighbors;
    return fits;
  }

  /// True for [..., pairs, 2] and [..., pairs].
  static bool are_pairs(const Shape& split, const Shape& pairs) {
    return split.rank == pairs.rank + 1 && have_equal_leading_dims(split, pairs, pairs.rank) &&
           last(split) == 2;
  }

  /// True for a float32 table of `length` numbers for each row of x.
  bool is_table(uint32_t id, const Shape& x, uint64_t length) const {
    return is_float(id) && are_rows_of(shape(id), length, x);
  }

  static bool multiplies(const Node* node, uint32_t a, uint32_t b) {
    return node != nullptr && ((node->operand(0) == a && node->operand(1) == b) ||
                               (node->operand(0) == b && node->operand(1) == a));
  }

  /// Finds low * cos - high * sin and high * cos + low * sin.
  bool find_halves(Rotation* rotation, uint32_t first, uint32_t second) {
    const Node* const difference = inner(rotation, first, NodeKind::Subtract, 1);
    const Node* const sum = inner(rotation, second, NodeKind::Add, 1);
    if (difference == nullptr || sum == nullptr) {
      return false;
    }
    const Node* const left = inner(rotation, difference->operand(0), NodeKind::Multiply, 1);
    const Node* const right = inner(rotation, difference->operand(1), NodeKind::Multiply, 1);
    const Node* const a = inner(rotation, sum->operand(0), NodeKind::Multiply, 1);
    const Node* const b = inner(rotation, sum->operand(1), NodeKind::Multiply, 1);
    if (left == nullptr || right == nullptr || a == nullptr || b == nullptr) {
      return false;
    }
    for (size_t sides = 0; sides < 4; ++sides) {
      const uint32_t low = left->operand(sides & 1), high = right->operand(sides >> 1);
      Rotation trial = *rotation;
      trial.cos = left->operand(1 - (sides & 1));
      trial.sin = right->operand(1 - (sides >> 1));
      const bool is_sum = (multiplies(a, high, trial.cos) && multiplies(b, low, trial.sin)) ||
                          (multiplies(b, high, trial.cos) && multiplies(a, low, trial.sin));
      if (is_sum && find_channels(&trial, low, 0, 2) && find_channels(&trial, high, 1, 2)) {
        *rotation = trial;
        return has_tables(*rotation, rotation->pairs);
      }
    }
    return false;
  }

  bool has_tables(const Rotation& rotation, uint64_t length) const {
    return is_table(rotation.cos, shape(rotation.x), length) &&
           is_table(rotation.sin, shape(rotation.x), length);
  }

  /// Finds x * cos + [-high, low] * sin.
  bool find_with_tables_of_channels(Rotation* rotation, const Node& sum, size_t side) {
    const Node* const right = inner(rotation, sum.operand(1 - side), NodeKind::Multiply, 1);
    const Node* const left = inner(rotation, sum.operand(side), NodeKind::Multiply, 1);
    for (size_t i = 0; left != nullptr && right != nullptr && i < 2; ++i) {
      Rotation trial = *rotation;
      const uint32_t turned = right->operand(i);
      const Node* const pair = inner(&trial, turned, NodeKind::Concatenate2, 1);
      if (pair == nullptr || pair->as<fb::Concatenate>().axis() + 1 != shape(turned).rank) {
        continue;
      }
      const Node* const negated = inner(&trial, pair->operand(0), NodeKind::Negate, 1);
      if (negated == nullptr || !find_channels(&trial, pair->operand(1), 0, 1) ||
          !find_channels(&trial, negated->operand(0), 1, 1) || trial.are_neighbors) {
        continue;
      }
      trial.sin = right->operand(1 - i);
      trial.cos = left->operand(left->operand(0) == trial.x ? 1 : 0);
      trial.has_tables_of_channels = true;
      trial.reads += 1;
      *rotation = trial;
      return multiplies(left, trial.x, trial.cos) && has_tables(trial, 2 * trial.pairs);
    }
    return false;
  }

  bool find(Rotation* rotation, const Node& node) {
    const Shape& out = shape(node.result());
    if (node.kind == NodeKind::Concatenate2) {
      return node.as<fb::Concatenate>().axis() + 1 == out.rank &&
             find_halves(rotation, node.operand(0), node.operand(1)) && !rotation->are_neighbors;
    }
    if (node.kind == NodeKind::Add) {
      for (size_t side = 0; side < 2; ++side) {
        *rotation = {};
        if (find_with_tables_of_channels(rotation, node, side)) {
          return true;
        }
      }
      return false;
    }
    const Node* const pairs = node.kind == NodeKind::StaticReshape
                                  ? inner(rotation, node.operand(0), NodeKind::Concatenate2, 1)
                                  : nullptr;
    if (pairs == nullptr ||
        pairs->as<fb::Concatenate>().axis() + 1 != shape(pairs->result()).rank) {
      return false;
    }
    const Node* const first = inner(rotation, pairs->operand(0), NodeKind::StaticReshape, 1);
    const Node* const second = inner(rotation, pairs->operand(1), NodeKind::StaticReshape, 1);
    return first != nullptr && second != nullptr &&
           find_halves(rotation, first->operand(0), second->operand(0)) &&
           rotation->are_neighbors && are_pairs(shape(pairs->result()), shape(first->operand(0)));
  }

  void fuse(size_t index) {
    Node& node = graph_.nodes[index];
    if (node.fused != Fused::No || !node.clamp.is_none() || !is_float(node.result()) ||
        erased_[index] || shape(node.result()).rank < 2) {
      return;
    }
    Rotation rotation;
    if (!find(&rotation, node)) {
      if (node.kind == NodeKind::Concatenate2) {
        append_other_channels(&node);
      }
      return;
    }
    if (!are_equal(shape(node.result()), shape(rotation.x))) {
      return;
    }
    erase_inner(rotation);
    uses_[rotation.x] -= rotation.reads == 0 ? 0 : rotation.reads - 1;
    node.fused = Fused::Rotary;
    node.kind = NodeKind::Multiply;  // other passes would drop a reshape
    node.operands[0] = rotation.x;
    node.operands[1] = rotation.cos;
    node.operands[2] = rotation.sin;
    node.operand_count = 3;
    node.rotated_pairs = static_cast<size_t>(rotation.pairs);
    node.pairs_are_neighbors = rotation.are_neighbors;
    node.has_tables_of_channels = rotation.has_tables_of_channels;
  }

  /// If a concatenation appends a tensor's unrotated channels to its rotated ones, makes the
  /// rotation copy them instead.
  void append_other_channels(Node* node) {
    const uint32_t turned = node->operand(0);
    const size_t producer = producers_[turned];
    if (node->as<fb::Concatenate>().axis() + 1 != shape(node->result()).rank ||
        producer == SIZE_MAX || uses_[turned] != 1 || !graph_.values[turned].is_internal() ||
        graph_.nodes[producer].fused != Fused::Rotary) {
      return;
    }
    const Node& rotation = graph_.nodes[producer];
    const Node* const rotated = plain_producer(rotation.operand(0), 1);
    const Node* const others = plain_producer(node->operand(1), 1);
    if (rotated == nullptr || others == nullptr || rotated->kind != NodeKind::StaticSlice ||
        others->kind != NodeKind::StaticSlice || rotated->operand(0) != others->operand(0) ||
        !are_equal(shape(rotated->operand(0)), shape(node->result())) || offset_of(*rotated) != 0 ||
        offset_of(*others) != 2 * rotation.rotated_pairs) {
      return;
    }
    Node fused = rotation;
    fused.results[0] = node->result();
    fused.operands[0] = rotated->operand(0);
    for (const size_t inner :
         {producer, producers_[rotation.operand(0)], producers_[node->operand(1)]}) {
      erased_[inner] = true;
    }
    *node = fused;
  }
};

}  // namespace

void fuse_rotary(Graph* graph) { RotaryFusion(graph).run(); }

}  // namespace executorch::backends::xnnpack
