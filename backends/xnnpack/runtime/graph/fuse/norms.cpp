// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Fuses layer norms, which a payload expresses as a dozen nodes: the difference from the mean, the
// mean of its squares, and so on, with reshapes between them. RMS norms lack the difference.
#include <string.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/fuse/subgraph_fusion.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::internal::count;

class NormFusion final : SubgraphFusion {
 public:
  explicit NormFusion(Graph* graph) : SubgraphFusion(graph) {}

  void run() {
    consumers_.assign(graph_.values.size(), SIZE_MAX);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (size_t k = 0; k < graph_.nodes[i].operand_count; ++k) {
        if (graph_.nodes[i].operands[k] != kNoValue) {
          consumers_[graph_.nodes[i].operands[k]] = i;
        }
      }
    }
    fuse_all([this](size_t i) { fuse(i); });
  }

 private:
  struct Norm : Match {
    Fused kind = Fused::No;
    uint32_t x = kNoValue;
    uint64_t length = 0;
    float epsilon = 0;
  };

  /// Returns true if `sizes` are the sizes of x, with ones in place of the dimensions of a row.
  /// Zero stands for any size.
  static bool are_rows(const flatbuffers::Vector<uint32_t>* sizes, const Shape& x,
                       uint64_t length) {
    if (count(sizes) != x.rank) {
      return false;
    }
    uint64_t row = 1;
    size_t d = x.rank;
    while (d > 0 && sizes->Get(static_cast<uint32_t>(d - 1)) == 1 && row < length) {
      row *= x.dims[--d];
    }
    for (uint32_t i = 0; i < d; ++i) {
      if (sizes->Get(i) != 0 && sizes->Get(i) != x.dims[i]) {
        return false;
      }
    }
    return row == length;
  }

  /// Returns true if a product computes means: it multiplies rows of `length` elements by a column
  /// of 1 / length.
  bool averages(const Node& product, uint64_t length) {
    const Value& column = graph_.values[product.operand(1)];
    if (product.operand(2) != kNoValue || !column.is_constant() ||
        column.datatype != Datatype::Float32 || column.data == nullptr ||
        column.declared.rank != 2 || column.declared.dims[0] != 1 ||
        column.declared.dims[1] != length) {
      return false;
    }
    const auto narrow = graph_.narrow_weights.find(product.operand(1));
    const Value& stored =
        narrow == graph_.narrow_weights.end() ? column : graph_.values[narrow->second];
    if (!xnnpack::is_float(stored.datatype)) {
      return false;  // its elements depend on scales, too
    }
    const auto [known, is_new] =
        averaging_.try_emplace(std::make_tuple(stored.data, stored.datatype, length), false);
    if (is_new) {
      DelegateBlock storage;
      const float* const first = float_contents(graph_, product.operand(1), &storage);
      const float factor = static_cast<float>(1.0 / static_cast<double>(length));
      known->second = first != nullptr && std::all_of(first, first + length,
                                                      [&](float value) { return value == factor; });
    }
    return known->second;
  }

  /// Returns the value whose rows of norm->length elements have the means `id`; kNoValue if there
  /// is none. Sets the length if it is 0.
  uint32_t averaged(Norm* norm, uint32_t id, const Shape& x) {
    if (const Node* const product = inner(norm, id, NodeKind::FullyConnected, 1)) {
      const uint64_t length = x.rank > 0 ? x.dims[x.rank - 1] : 0;
      norm->length = norm->length == 0 ? length : norm->length;
      return length == norm->length && averages(*product, length) ? product->operand(0) : kNoValue;
    }
    const Node* const spread = inner(norm, id, NodeKind::StaticReshape, 1);
    if (spread == nullptr) {
      return kNoValue;
    }
    const Node* const mean = inner(norm, spread->operand(0), NodeKind::GlobalAvgPooling2d, 1);
    if (mean == nullptr) {
      return kNoValue;
    }
    const Node* const rows = inner(norm, mean->operand(0), NodeKind::StaticReshape, 1);
    if (rows == nullptr) {
      return kNoValue;
    }
    const auto* shape = rows->as<fb::StaticReshape>().new_shape();
    const uint64_t length =
        count(shape) == 4 && shape->Get(3) == 1 ? uint64_t{shape->Get(1)} * shape->Get(2) : 0;
    norm->length = norm->length == 0 ? length : norm->length;
    if (length == 0 || length != norm->length ||
        !are_rows(spread->as<fb::StaticReshape>().new_shape(), x, length)) {
      return kNoValue;
    }
    return rows->operand(0);
  }

  /// True if `scale` is 1 / sqrt(mean of squares(rows of x) + epsilon).
  bool find_scale(Norm* norm, uint32_t x, uint32_t scale) {
    const Node* const root = inner(norm, scale, NodeKind::ReciprocalSquareRoot, 1);
    if (root == nullptr) {
      return false;
    }
    const Node* const sum = inner(norm, root->operand(0), NodeKind::Add, 1);
    if (sum == nullptr) {
      return false;
    }
    const Shape& shape = graph_.values[x].declared;
    const size_t second = graph_.values[sum->operand(1)].is_constant() ? 1 : 0;
    const Value& epsilon = graph_.values[sum->operand(second)];
    if (!epsilon.is_constant() || epsilon.datatype != Datatype::Float32 ||
        elements(epsilon.declared) != 1 || epsilon.declared.rank > shape.rank) {
      return false;
    }
    memcpy(&norm->epsilon, epsilon.data, sizeof(float));
    const uint32_t squares = averaged(norm, sum->operand(1 - second), shape);
    if (squares == kNoValue) {
      return false;
    }
    const Node* const square = inner(norm, squares, NodeKind::Square, 1);
    return square != nullptr && square->operand(0) == x;
  }

  bool is_operand(uint32_t id) const { return !graph_.values[id].is_constant() && is_float(id); }

  bool find_layer_norm(Norm* norm, uint32_t centered, uint32_t scale) {
    const Node* const difference = inner(norm, centered, NodeKind::Subtract, 2);
    if (difference == nullptr) {
      return false;
    }
    norm->kind = Fused::LayerNorm;
    norm->x = difference->operand(0);
    return is_operand(norm->x) &&
           averaged(norm, difference->operand(1), graph_.values[norm->x].declared) == norm->x &&
           find_scale(norm, centered, scale);
  }

  bool find_rms_norm(Norm* norm, uint32_t x, uint32_t scale) {
    norm->kind = Fused::RmsNorm;
    norm->x = x;
    return is_operand(x) && find_scale(norm, x, scale);
  }

  /// True for a constant with one element per element of a row.
  bool is_row(uint32_t id, const Norm& norm) const {
    const Value& value = graph_.values[id];
    const Shape& x = graph_.values[norm.x].declared;
    if (!value.is_constant() || value.datatype != Datatype::Float32 ||
        value.declared.rank > x.rank) {
      return false;
    }
    uint64_t row = 1;
    for (size_t i = 1; i <= value.declared.rank; ++i) {
      const uint64_t size = value.declared.dims[value.declared.rank - i];
      if (size != (row < norm.length ? x.dims[x.rank - i] : 1)) {
        return false;
      }
      row *= size;
    }
    return row == norm.length;
  }

  /// Returns the only reader of `id` if it is of this kind and its other operand is a row of
  /// constants, which it stores in `row`; else SIZE_MAX.
  size_t find_affine_node(const Norm& norm, uint32_t id, NodeKind kind, uint32_t* row) const {
    if (!graph_.values[id].is_internal() || uses_[id] != 1) {
      return SIZE_MAX;
    }
    const size_t index = consumers_[id];
    const Node& node = graph_.nodes[index];
    if (node.kind != kind || node.fused != Fused::No || !node.clamp.is_none() ||
        node.operand(0) == node.operand(1) || !is_float(node.result())) {
      return SIZE_MAX;
    }
    *row = node.operand(node.operand(0) == id ? 1 : 0);
    return is_row(*row, norm) ? index : SIZE_MAX;
  }

  void fuse(size_t product) {
    const Node& node = graph_.nodes[product];
    if (node.kind != NodeKind::Multiply || node.fused != Fused::No || erased_[product] ||
        !node.clamp.is_none() || !is_float(node.result())) {
      return;
    }
    Norm norm;
    bool has_norm = false;
    for (size_t side = 0; side < 2 && !has_norm; ++side) {
      const uint32_t x = node.operand(side), scale = node.operand(1 - side);
      norm = {};
      has_norm = find_layer_norm(&norm, x, scale);
      if (!has_norm) {
        norm = {};
        has_norm = find_rms_norm(&norm, x, scale);
      }
    }
    if (!has_norm) {
      return;
    }
    uint32_t rows[2] = {kNoValue, kNoValue};
    size_t last = product;
    const NodeKind affine[] = {NodeKind::Multiply, NodeKind::Add};
    for (size_t i = 0; i < (norm.kind == Fused::LayerNorm ? 2 : 1); ++i) {
      const size_t next = find_affine_node(norm, graph_.nodes[last].result(), affine[i], &rows[i]);
      if (next == SIZE_MAX) {
        rows[i] = kNoValue;
        break;
      }
      norm.inner.push_back(last);
      last = next;
    }
    erase_inner(norm);
    Node& fused = graph_.nodes[last];
    fused.fused = norm.kind;
    fused.operands[0] = norm.x;
    fused.operands[1] = rows[0];
    fused.operands[2] = rows[1];
    fused.operand_count = 3;
    fused.norm_length = static_cast<size_t>(norm.length);
    fused.epsilon = norm.epsilon;
  }

  /// By value: the last node that reads it; SIZE_MAX if there is none.
  std::vector<size_t> consumers_;
  /// By data, datatype and length of a column: whether all its elements are 1 / length. Any number
  /// of norms, and of constants, may share the data.
  std::map<std::tuple<const void*, Datatype, uint64_t>, bool> averaging_;
};

}  // namespace

void fuse_norms(Graph* graph) { NormFusion(graph).run(); }

}  // namespace executorch::backends::xnnpack
