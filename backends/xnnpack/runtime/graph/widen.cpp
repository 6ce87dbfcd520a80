// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rewrites nodes on float16, bfloat16 or quantized values to compute in float32.
#include <algorithm>
#include <functional>
#include <map>

#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

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
void dequantize(const Value& from, size_t count, float* to) {
  const auto* data = static_cast<const T*>(from.data);
  const ConstantScales scales(from);
  for (size_t i = 0; i < count; ++i) {
    const double centered = static_cast<double>(data[i]) - from.zero_point;
    to[i] = static_cast<float>(centered * static_cast<double>(scales[i]));
  }
}

/// False if the memory of all delegates does not suffice.
bool widen_constant(const Value& from, DelegateBlock* block) {
  const auto count = static_cast<size_t>(elements(from.declared));
  if (count > (SIZE_MAX - kReadBeyond) / sizeof(float) ||
      !block->grow(count * sizeof(float) + kReadBeyond)) {
    return false;
  }
  auto* const to = block->as<float>();
  switch (from.datatype) {
    case Datatype::Float16:
      std::copy_n(static_cast<const executorch::aten::Half*>(from.data), count, to);
      break;
    case Datatype::BFloat16:
      std::copy_n(static_cast<const executorch::aten::BFloat16*>(from.data), count, to);
      break;
    case Datatype::QUInt8:
      dequantize<uint8_t>(from, count, to);
      break;
    case Datatype::QInt32:
    case Datatype::QCInt32:
      dequantize<int32_t>(from, count, to);
      break;
    default:
      dequantize<int8_t>(from, count, to);
      break;
  }
  return true;
}

bool is_half(Datatype datatype) {
  return datatype == Datatype::Float16 || datatype == Datatype::BFloat16;
}

bool is_product(const Node& node) {
  return node.kind == NodeKind::FullyConnected || node.kind == NodeKind::Conv2d ||
         node.kind == NodeKind::DepthwiseConv2d || node.kind == NodeKind::ConvTranspose2d ||
         node.kind == NodeKind::BatchMatrixMultiply;
}

/// True for a node whose operator packs constant weights and reads their elements for nothing else.
bool packs_weights(const Node& node) {
  switch (node.kind) {
    case NodeKind::FullyConnected:
      return true;
    case NodeKind::Conv2d:
    case NodeKind::DepthwiseConv2d:
    case NodeKind::ConvTranspose2d:
      return (node.flags & kSamePadding) == 0;
    default:
      return false;
  }
}

/// By value: a constant that is only packed, as the weights of linear layers and convolutions.
std::vector<bool> find_packed_weights(const Graph& graph) {
  const auto is_constant = [&](uint32_t id) { return graph.values[id].is_constant(); };
  std::vector<bool> is_packed(graph.values.size(), true);
  for (const Node& node : graph.nodes) {
    const bool packs = packs_weights(node) && is_constant(node.operand(1)) &&
                       (node.operand(2) == kNoValue || is_constant(node.operand(2)));
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (node.operand(i) != kNoValue && !(packs && i == 1)) {
        is_packed[node.operand(i)] = false;
      }
    }
  }
  for (uint32_t id : graph.arguments) {
    is_packed[id] = false;
  }
  return is_packed;
}

/// Rewrites the nodes of a graph, with float32 values in place of narrow ones.
class Rewriter {
 protected:
  explicit Rewriter(Graph* graph) : graph_(*graph), is_packed_(find_packed_weights(*graph)) {}

  Datatype datatype(uint32_t id) const { return graph_.values[id].datatype; }

  /// The error of all conversions of constants. After one, the graph cannot be used.
  Error check_room() const {
    ET_CHECK_OR_RETURN_ERROR(
        has_room_, MemoryAllocationFailed,
        "xnnpack: no memory for constants in float32; all delegates have %zu bytes, expected at "
        "most %zu",
        delegate_bytes().taken(), max_delegate_bytes());
    return Error::Ok;
  }

  /// The float32 value with the elements of a narrow value.
  uint32_t widened(uint32_t narrow) {
    const auto entry = widened_.find(narrow);
    if (entry != widened_.end()) {
      return entry->second;
    }
    const uint32_t wide = graph_.add_value(Datatype::Float32, narrow);
    widened_[narrow] = wide;
    if (graph_.values[narrow].is_constant() && is_packed_[narrow]) {
      graph_.narrow_weights[wide] = narrow;
      graph_.values[wide].data = graph_.values[wide].source_data = graph_.values[narrow].data;
    } else if (graph_.values[narrow].is_constant()) {
      DelegateBlock& to = graph_.converted[wide];
      has_room_ = has_room_ && widen_constant(graph_.values[narrow], &to);
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
  std::map<uint32_t, uint32_t> widened_;

 private:
  const std::vector<bool> is_packed_;
  bool has_room_ = true;
};

/// Replaces float16 and bfloat16 values by float32, and converts arguments.
class HalfWidening final : public Rewriter {
 public:
  explicit HalfWidening(Graph* graph) : Rewriter(graph) {
    for (const Value& value : graph_.values) {
      declared_.push_back(value.datatype);
    }
    makers_ = graph_.producers();
  }

  Error run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    given_ = &nodes;
    for (const Node& node : nodes) {
      if (node.kind == NodeKind::Convert) {
        add_conversion(node);
      } else if (!moves_arguments(node)) {
        add(node);
      } else {
        graph_.nodes.push_back(node);
      }
    }
    return check_room();
  }

 private:
  /// True for a node that only moves float16 between arguments: it stays, because float32 would
  /// double the bytes.
  bool moves_arguments(const Node& node) const {
    const auto is_argument = [&](uint32_t id) {
      return id == kNoValue || (datatype(id) == Datatype::Float16 &&
                                graph_.values[id].argument != kNoValue && widened_.count(id) == 0);
    };
    return only_moves(node.kind) &&
           std::all_of(node.operands, node.operands + node.operand_count, is_argument) &&
           is_argument(node.result());
  }

  void widen_operands(Node* node) {
    for (size_t i = 0; i < node->operand_count; ++i) {
      const uint32_t id = node->operands[i];
      if (id != kNoValue && is_half(datatype(id))) {
        node->operands[i] = widened(id);
      }
    }
  }

  void add(Node node) {
    if (is_product(node) && declared_[node.operand(0)] == Datatype::BFloat16) {
      node.precision = kernels::engine::Precision::BFloat16;
    }
    widen_operands(&node);
    std::vector<uint32_t> outputs;
    for (size_t r = 0; r < node.result_count; ++r) {
      const uint32_t id = node.results[r];
      if (is_half(datatype(id)) && graph_.values[id].is_internal()) {
        graph_.values[id].datatype = Datatype::Float32;
      } else if (is_half(datatype(id))) {
        outputs.push_back(id);
        node.results[r] = graph_.add_value(Datatype::Float32, id);
        widened_[id] = node.results[r];
      }
    }
    graph_.nodes.push_back(node);
    for (uint32_t id : outputs) {
      convert(widened_[id], id, node.debug_handle);
    }
  }

  /// A conversion from float32 of the program rounds, unless it ends an operator that was lowered
  /// as several nodes. Other conversions have become copies.
  void add_conversion(Node node) {
    const uint32_t from = node.operand(0), to = node.result();
    const bool is_rounding = is_half(datatype(to)) && declared_[from] != datatype(to) &&
                             (declared_[from] == Datatype::Float32 || is_half(declared_[from]));
    if (is_rounding && !(graph_.values[to].is_internal() && ends_operator(node))) {
      widen_operands(&node);
      graph_.nodes.push_back(node);
      return;
    }
    const bool is_half_result = is_half(datatype(to));
    const bool is_of_floats = is_half(declared_[from]) || declared_[from] == Datatype::Float32;
    if (is_of_floats && (is_half_result || datatype(to) == Datatype::Float32)) {
      node.kind = NodeKind::Copy;
    }
    add(node);
  }

  bool ends_operator(const Node& node) const {
    const size_t maker = makers_[node.operand(0)];
    return maker != SIZE_MAX && node.debug_handle != 0 &&
           (*given_)[maker].debug_handle == node.debug_handle;
  }

  /// By value: the datatype in the payload, and the producer.
  std::vector<Datatype> declared_;
  std::vector<size_t> makers_;
  const std::vector<Node>* given_ = nullptr;
};

/// Converts quantized operands before, and results after, each node that does not run on integers.
class QuantizedWidening final : public Rewriter {
 public:
  QuantizedWidening(Graph* graph, const std::function<bool(const Node&)>& keeps)
      : Rewriter(graph), keeps_(keeps) {}

  Error run() {
    std::vector<Node> nodes;
    nodes.swap(graph_.nodes);
    for (Node& node : nodes) {
      if (only_moves(node.kind) || !has_narrow_values(node) || keeps_(node)) {
        graph_.nodes.push_back(node);
      } else {
        widen(node);
      }
    }
    return check_room();
  }

 private:
  bool is_narrow(uint32_t id) const {
    if (id == kNoValue) {
      return false;
    }
    const Datatype of = datatype(id);
    return of == Datatype::QInt8 || of == Datatype::QUInt8 || of == Datatype::QInt32 ||
           of == Datatype::QCInt8 || of == Datatype::QCInt32;
  }

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

  const std::function<bool(const Node&)>& keeps_;
};

}  // namespace

Error widen_halves(Graph* graph) { return HalfWidening(graph).run(); }

const float* float_contents(const Graph& graph, uint32_t constant, DelegateBlock* storage) {
  const auto narrow = graph.narrow_weights.find(constant);
  if (narrow == graph.narrow_weights.end()) {
    return static_cast<const float*>(graph.values[constant].data);
  }
  if (storage->size() == 0 && !widen_constant(graph.values[narrow->second], storage)) {
    return nullptr;
  }
  return storage->as<float>();
}

Error widen_quantized(Graph* graph, const std::function<bool(const Node&)>& runs_on_integers) {
  const std::function<bool(const Node&)> keeps = [&](const Node& node) {
    return node.kind == NodeKind::Convert ||
           graph->values[node.operand(0)].datatype == Datatype::QDInt8 || runs_on_integers(node);
  };
  return QuantizedWidening(graph, keeps).run();
}

void permit_precision(Graph* graph, kernels::engine::Precision precision) {
  for (Node& node : graph->nodes) {
    if (is_product(node) && !node.has_full_precision &&
        graph->values[node.operand(0)].datatype == Datatype::Float32) {
      node.precision = precision;
    }
  }
}

}  // namespace executorch::backends::xnnpack
