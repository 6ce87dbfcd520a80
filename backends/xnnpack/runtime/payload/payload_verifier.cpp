// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks of a payload's graph.
#include <inttypes.h>

#include <algorithm>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using fb::Datatype;
using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::internal::count;

namespace {

constexpr uint32_t kInvalidId = UINT32_MAX;
// XNNPACK's flags of values.
constexpr uint32_t kIsInput = 1, kIsOutput = 2;
// Limit of XNNPACK.
constexpr size_t kMaxRank = 6;
// The product of sizes, with the padding that XNNPACK adds, must not overflow.
constexpr uint64_t kMaxTensorBytes = std::min<uint64_t>(uint64_t{1} << 40, SIZE_MAX / 4);
constexpr uint64_t kMaxStride = uint64_t{1} << 16;

/// True for nodes that choose, compare or move.
bool takes_booleans(const fb::XNode& node) {
  const Datatypes rule = row_of(node).datatypes;
  return only_moves(node.xnode_union_type()) || rule == Datatypes::Selection ||
         rule == Datatypes::Comparison;
}

/// Checks values and nodes against each other.
class Verifier final {
 public:
  Verifier(const fb::XNNGraph& graph, Span<const uint8_t> constants)
      : graph_(graph),
        constants_(constants),
        values_(count(graph.xvalues())),
        together_(count(graph.xvalues())),
        channel_dims_(count(graph.xvalues())) {}

  Error run() {
    ET_CHECK_OK_OR_RETURN_ERROR(constant_table());
    for (size_t i = 0; i < values_.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(value(i));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(arguments());
    for (size_t i = 0; i < count(graph_.xnodes()); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(node(i, *graph_.xnodes()->Get(static_cast<uint32_t>(i))));
    }
    return Error::Ok;
  }

 private:
  Error constant_table() const;
  Error value(size_t index);
  Error constant(size_t index, const fb::TensorValue& tensor) const;
  Error quantization(size_t index, const fb::QuantizedTensorValue& value) const;
  Error scales(size_t index, uint32_t given, uint32_t buffer, uint32_t outside, size_t item,
               uint64_t expected) const;
  Error arguments() const;
  Error listed(const char* what, const flatbuffers::Vector<uint32_t>* ids, std::vector<bool>* seen,
               size_t first) const;
  Error node(size_t index, const fb::XNode& node) const;
  bool takes_quantized(fb::XNodeUnion kind, Role role, uint32_t id) const;
  bool datatypes_fit(const fb::XNode& node) const;
  Error weights(size_t index, uint32_t filter, int32_t outputs_dim) const;
  Error bias(size_t index, uint32_t operand, uint32_t bias) const;
  Error strides(size_t index, const fb::Convolution& node) const;
  Datatype datatype(uint32_t id) const { return values_[id]->datatype(); }

  const fb::XNNGraph& graph_;
  Span<const uint8_t> constants_;
  /// By id; null until the id is defined.
  std::vector<const fb::TensorValue*> values_;
  /// By id: the number of innermost dimensions that share dynamic quantization; 0 for other values.
  std::vector<int32_t> together_;
  /// By id: the dimension with a scale for each index; 0 for other values.
  std::vector<int32_t> channel_dims_;
};

Error Verifier::constant_table() const {
  ET_CHECK_OR_RETURN_ERROR(count(graph_.constant_data()) > 0, InvalidProgram,
                           "xnnpack payload: the constant table is missing or lacks its entry 0, "
                           "which stands for no constant");
  for (size_t i = 1; i < count(graph_.constant_data()); ++i) {
    const fb::ConstantDataOffset& data = *graph_.constant_data()->Get(static_cast<uint32_t>(i));
    if (data.offset() == kInNamedData) {
      ET_CHECK_OR_RETURN_ERROR(data.named_key() != nullptr && !data.named_key()->empty(),
                               InvalidProgram, "xnnpack payload: constant %zu has no name", i);
    } else {
      (void)ET_UNWRAP(part_of(constants_, "a constant", data.offset(), data.size()));
    }
  }
  return Error::Ok;
}

Error Verifier::value(size_t index) {
  const fb::XValue& value = *graph_.xvalues()->Get(static_cast<uint32_t>(index));
  const fb::TensorValue& tensor = tensor_of(value);
  const uint32_t id = tensor.id_out();
  ET_CHECK_OR_RETURN_ERROR(id < values_.size() && values_[id] == nullptr, InvalidProgram,
                           "xnnpack payload: value %zu has id %" PRIu32
                           ", expected an unused one below %zu",
                           index, id, values_.size());
  values_[id] = &tensor;
  uint64_t bits = bits_of(tensor.datatype());
  ET_CHECK_OR_RETURN_ERROR(bits != 0, NotSupported,
                           "xnnpack payload: value %" PRIu32 " has datatype %d", id,
                           static_cast<int>(tensor.datatype()));
  const size_t rank = count(tensor.dims());
  ET_CHECK_OR_RETURN_ERROR(tensor.num_dims() == rank && rank <= kMaxRank, InvalidProgram,
                           "xnnpack payload: value %" PRIu32 " has %" PRIu32
                           " dimensions and %zu sizes, at most %zu",
                           id, tensor.num_dims(), rank, kMaxRank);
  // XNNPACK starts each row at a byte.
  ET_CHECK_OR_RETURN_ERROR(
      bits != 4 || (rank > 0 && tensor.dims()->Get(static_cast<uint32_t>(rank - 1)) % 2 == 0),
      NotSupported, "xnnpack payload: value %" PRIu32 " has rows of half a byte", id);
  for (size_t d = 0; d < rank; ++d) {
    ET_CHECK_OR_RETURN_ERROR(
        !runtime::mul_overflows(bits, uint64_t{tensor.dims()->Get(static_cast<uint32_t>(d))},
                                &bits) &&
            bits <= kMaxTensorBytes * 8,
        InvalidProgram, "xnnpack payload: value %" PRIu32 " is larger than memory", id);
  }
  const fb::QuantizedTensorValue* const quantized = value.xvalue_union_as_QuantizedTensorValue();
  const fb::XNNQuantParams parameters =
      quantized == nullptr ? fb::XNNQuantParams::NONE : quantized->quant_params_type();
  ET_CHECK_OR_RETURN_ERROR(parameters == parameters_of(tensor.datatype()), InvalidProgram,
                           "xnnpack payload: value %" PRIu32
                           " of datatype %s has quantization parameters %s, expected %s",
                           id, fb::EnumNameDatatype(tensor.datatype()),
                           fb::EnumNameXNNQuantParams(parameters),
                           fb::EnumNameXNNQuantParams(parameters_of(tensor.datatype())));
  if (quantized != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(quantization(id, *quantized));
    const auto* tokens = quantized->quant_params_as_PerTokenDynamicQuant();
    together_[id] = tokens == nullptr ? 0 : tokens->num_nonbatch_dims();
    const auto* channels = quantized->quant_params_as_PerChannelQuant();
    channel_dims_[id] = channels == nullptr ? 0 : channels->channel_dim();
  }
  return constant(id, tensor);
}

Error Verifier::constant(size_t id, const fb::TensorValue& tensor) const {
  const uint32_t index = tensor.constant_buffer_idx();
  if (index == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(index < count(graph_.constant_data()), InvalidProgram,
                           "xnnpack payload: value %zu is constant %" PRIu32 " of %zu", id, index,
                           count(graph_.constant_data()));
  const uint64_t stored = graph_.constant_data()->Get(index)->size();
  // Some writers round the size of a constant up to its alignment.
  ET_CHECK_OR_RETURN_ERROR(stored >= tensor_bytes(tensor), InvalidProgram,
                           "xnnpack payload: value %zu needs %zu bytes, its constant has %" PRIu64,
                           id, tensor_bytes(tensor), stored);
  ET_CHECK_OR_RETURN_ERROR(tensor.external_id() == kInvalidId, InvalidProgram,
                           "xnnpack payload: value %zu is constant and an argument", id);
  // Operators run on operands with elements only: empty operands never reach them as arguments.
  ET_CHECK_OR_RETURN_ERROR(tensor_bytes(tensor) > 0, InvalidProgram,
                           "xnnpack payload: value %zu is a constant without elements", id);
  // Operators read parameters of rows after the elements.
  ET_CHECK_OR_RETURN_ERROR(tensor.datatype() != Datatype::QDInt8, InvalidProgram,
                           "xnnpack payload: value %zu is a constant, but is to be "
                           "quantized at run time",
                           id);
  return Error::Ok;
}

Error Verifier::scales(size_t id, uint32_t given, uint32_t buffer, uint32_t outside, size_t item,
                       uint64_t expected) const {
  const uint64_t scale_count = buffer == 0 ? given : outside;
  ET_CHECK_OR_RETURN_ERROR(scale_count == expected, InvalidProgram,
                           "xnnpack payload: value %zu has %" PRIu64 " scales, expected %" PRIu64,
                           id, scale_count, expected);
  if (buffer == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(buffer < count(graph_.constant_data()) &&
                               graph_.constant_data()->Get(buffer)->size() / item >= expected,
                           InvalidProgram, "xnnpack payload: the scales of value %zu are missing",
                           id);
  return Error::Ok;
}

Error Verifier::quantization(size_t id, const fb::QuantizedTensorValue& value) const {
  const fb::TensorValue& tensor = *value.tensor_value();
  const auto size_of = [&](int64_t dim) -> int64_t {
    return dim >= 0 && dim < static_cast<int64_t>(count(tensor.dims()))
               ? int64_t{tensor.dims()->Get(static_cast<uint32_t>(dim))}
               : -1;
  };
  if (const auto* channels = value.quant_params_as_PerChannelQuant()) {
    ET_CHECK_OR_RETURN_ERROR(size_of(channels->channel_dim()) >= 0, InvalidProgram,
                             "xnnpack payload: value %zu lacks the channel dimension %" PRId32, id,
                             channels->channel_dim());
    return scales(id, static_cast<uint32_t>(count(channels->scale())), channels->scale_buffer_idx(),
                  channels->num_scales(), sizeof(float),
                  static_cast<uint64_t>(size_of(channels->channel_dim())));
  }
  if (const auto* groups = value.quant_params_as_PerChannelGroupQuant()) {
    // XNNPACK supports groups along the second dimension of a matrix.
    const int64_t rows = size_of(0), columns = size_of(1), group = groups->group_size();
    ET_CHECK_OR_RETURN_ERROR(count(tensor.dims()) == 2 && groups->channel_dim() == 0 && group > 0 &&
                                 columns % group == 0,
                             InvalidProgram,
                             "xnnpack payload: value %zu does not divide into groups of %" PRId64,
                             id, group);
    ET_CHECK_OR_RETURN_ERROR(groups->scale_buffer_idx() != 0, NotSupported,
                             "xnnpack payload: value %zu has scales of groups of an older format",
                             id);
    return scales(id, 0, groups->scale_buffer_idx(), groups->num_scales(), sizeof(uint16_t),
                  static_cast<uint64_t>(rows * (columns / group)));
  }
  if (const auto* tokens = value.quant_params_as_PerTokenDynamicQuant()) {
    const int32_t together = tokens->num_nonbatch_dims();
    ET_CHECK_OR_RETURN_ERROR(
        together > 0 && static_cast<size_t>(together) <= count(tensor.dims()), InvalidProgram,
        "xnnpack payload: value %zu quantizes over %" PRId32 " of %zu dimensions", id, together,
        count(tensor.dims()));
  }
  return Error::Ok;
}

Error Verifier::listed(const char* what, const flatbuffers::Vector<uint32_t>* ids,
                       std::vector<bool>* seen, size_t first) const {
  const size_t end = first + count(ids);
  for (uint32_t i = 0; i < count(ids); ++i) {
    const uint32_t id = ids->Get(i);
    const uint32_t argument = id < values_.size() ? values_[id]->external_id() : kInvalidId;
    ET_CHECK_OR_RETURN_ERROR(
        argument >= first && argument < end && !(*seen)[argument], InvalidProgram,
        "xnnpack payload: %s %" PRIu32 " is not one of arguments %zu to %zu, or is listed twice",
        what, id, first, end - 1);
    (*seen)[argument] = true;
  }
  return Error::Ok;
}

Error Verifier::arguments() const {
  const size_t inputs = count(graph_.input_ids()), outputs = count(graph_.output_ids());
  ET_CHECK_OR_RETURN_ERROR(graph_.num_externs() == inputs + outputs, InvalidProgram,
                           "xnnpack payload: %" PRIu32
                           " arguments, expected %zu inputs and %zu "
                           "outputs",
                           graph_.num_externs(), inputs, outputs);
  const uint32_t next = graph_.num_externs();
  std::vector<bool> seen(next);
  ET_CHECK_OK_OR_RETURN_ERROR(listed("input", graph_.input_ids(), &seen, 0));
  ET_CHECK_OK_OR_RETURN_ERROR(listed("output", graph_.output_ids(), &seen, inputs));
  uint32_t external = 0;
  for (const fb::TensorValue* value : values_) {
    const uint32_t role = value->flags() & (kIsInput | kIsOutput);
    const uint32_t expected = value->external_id() == kInvalidId ? 0
                              : value->external_id() < inputs    ? kIsInput
                                                                 : kIsOutput;
    // XNNPACK does not check that a value with these flags is an argument.
    ET_CHECK_OR_RETURN_ERROR(role == expected, InvalidProgram,
                             "xnnpack payload: value %" PRIu32 " has flags %" PRIu32
                             ", expected %" PRIu32 " for argument %" PRIu32,
                             value->id_out(), value->flags(), expected, value->external_id());
    ET_CHECK_OR_RETURN_ERROR(
        value->external_id() == kInvalidId || value->external_id() < next, InvalidProgram,
        "xnnpack payload: value %" PRIu32 " is argument %" PRIu32 " of %" PRIu32, value->id_out(),
        value->external_id(), next);
    external += value->external_id() == kInvalidId ? 0 : 1;
  }
  // XNNPACK would compute with a second value of the same external id without checking it.
  ET_CHECK_OR_RETURN_ERROR(external == next, InvalidProgram,
                           "xnnpack payload: %" PRIu32
                           " values are arguments, expected one for each of %" PRIu32,
                           external, next);
  return Error::Ok;
}

Error Verifier::node(size_t index, const fb::XNode& node) const {
  ET_CHECK_OR_RETURN_ERROR(node.xnode_union_type() != fb::XNodeUnion::NONE, InvalidProgram,
                           "xnnpack payload: node %zu has no known kind", index);
  const auto* table = static_cast<const flatbuffers::Table*>(node.xnode_union());
  for (const NodeField& row : rows::kNodeFields) {
    if (row.layout != layout_of(node) || row.role > Role::Result) {
      continue;
    }
    const auto id = table->GetField<uint32_t>(row.vtable_slot, 0);
    const bool left_out = id == kInvalidId && row.role == Role::MaybeOperand;
    ET_CHECK_OR_RETURN_ERROR(id < values_.size() || left_out, InvalidProgram,
                             "xnnpack payload: node %zu (%s) has operand %" PRIu32 " of %zu values",
                             index, fb::EnumNameXNodeUnion(node.xnode_union_type()), id,
                             values_.size());
    ET_CHECK_OR_RETURN_ERROR(row.role != Role::Result || values_[id]->constant_buffer_idx() == 0,
                             InvalidProgram,
                             "xnnpack payload: node %zu writes the constant %" PRIu32, index, id);
    ET_CHECK_OR_RETURN_ERROR(left_out || datatype(id) != Datatype::QDInt8 ||
                                 takes_quantized(node.xnode_union_type(), row.role, id),
                             InvalidProgram,
                             "xnnpack payload: node %zu (%s) has value %" PRIu32
                             ", quantized at run time over %" PRId32 " of %zu dimensions",
                             index, fb::EnumNameXNodeUnion(node.xnode_union_type()), id,
                             together_[id], count(values_[id]->dims()));
    ET_CHECK_OR_RETURN_ERROR(left_out || datatype(id) != Datatype::Bool || takes_booleans(node),
                             InvalidProgram,
                             "xnnpack payload: node %zu (%s) has value %" PRIu32
                             " of datatype Bool, which it does not take",
                             index, fb::EnumNameXNodeUnion(node.xnode_union_type()), id);
    ET_CHECK_OR_RETURN_ERROR(row.role != Role::Result || node.output_min_max() == nullptr ||
                                 can_be_limited(datatype(id)),
                             InvalidProgram,
                             "xnnpack payload: node %zu limits results of datatype %s", index,
                             fb::EnumNameDatatype(datatype(id)));
  }
  ET_CHECK_OR_RETURN_ERROR(datatypes_fit(node), InvalidProgram,
                           "xnnpack payload: the datatypes of node %zu (%s) do not go together",
                           index, fb::EnumNameXNodeUnion(node.xnode_union_type()));
  if (const auto* product = node.xnode_union_as_FullyConnected()) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        weights(index, product->filter_id(), (product->flags() & kTransposeWeights) != 0));
    return bias(index, product->input1_id(), product->bias_id());
  }
  if (node.xnode_union_type() == fb::XNodeUnion::ConvTranspose2d) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        strides(index, *static_cast<const fb::Convolution*>(node.xnode_union())));
  }
  if (row_of(node).datatypes == Datatypes::Convolution) {
    const bool depthwise = node.xnode_union_type() == fb::XNodeUnion::DepthwiseConv2d;
    const auto& n = *static_cast<const fb::Convolution*>(node.xnode_union());
    ET_CHECK_OK_OR_RETURN_ERROR(weights(index, n.filter_id(), depthwise ? 3 : 0));
    return bias(index, n.input1_id(), n.bias_id());
  }
  return Error::Ok;
}

/// A transposed convolution packs weights for each place that a stride steps over.
Error Verifier::strides(size_t index, const fb::Convolution& node) const {
  const uint64_t steps = uint64_t{node.subsampling_height()} * node.subsampling_width();
  ET_CHECK_OR_RETURN_ERROR(steps <= kMaxStride, NotSupported,
                           "xnnpack payload: node %zu has strides %" PRIu32 " and %" PRIu32
                           ", expected a product of at most %" PRIu64,
                           index, node.subsampling_height(), node.subsampling_width(), kMaxStride);
  return Error::Ok;
}

/// A product reads as many scales of its weights as it has outputs.
Error Verifier::weights(size_t index, uint32_t filter, int32_t outputs_dim) const {
  const fb::XNNQuantParams parameters = parameters_of(datatype(filter));
  const bool is_by_output = parameters == fb::XNNQuantParams::PerChannelQuant ||
                            parameters == fb::XNNQuantParams::PerChannelGroupQuant;
  ET_CHECK_OR_RETURN_ERROR(!is_by_output || channel_dims_[filter] == outputs_dim, InvalidProgram,
                           "xnnpack payload: node %zu has weights %" PRIu32
                           " with scales along dimension %" PRId32 ", expected %" PRId32,
                           index, filter, channel_dims_[filter], outputs_dim);
  return Error::Ok;
}

/// Operators read a bias as integers of 32 bits or as floats, without a check.
Error Verifier::bias(size_t index, uint32_t operand, uint32_t bias) const {
  ET_CHECK_OR_RETURN_ERROR(
      bias == kInvalidId || can_be_bias(datatype(operand), datatype(bias)), InvalidProgram,
      "xnnpack payload: node %zu has operand %" PRIu32 " of datatype %s and a bias of %s", index,
      operand, fb::EnumNameDatatype(datatype(operand)), fb::EnumNameDatatype(datatype(bias)));
  return Error::Ok;
}

bool Verifier::takes_quantized(fb::XNodeUnion kind, Role role, uint32_t id) const {
  if (role == Role::Result) {
    return kind == fb::XNodeUnion::Convert && together_[id] > 0;
  }
  // A matrix product reads as many scales as it has rows, a convolution as many as it has images.
  const bool of_images = together_[id] == 3 && count(values_[id]->dims()) == 4;
  return (kind == fb::XNodeUnion::FullyConnected && together_[id] == 1) ||
         ((kind == fb::XNodeUnion::Conv2d || kind == fb::XNodeUnion::ConvTranspose2d) && of_images);
}

bool Verifier::datatypes_fit(const fb::XNode& node) const {
  switch (row_of(node).datatypes) {
    case Datatypes::Convolution: {
      const auto& n = *static_cast<const fb::Convolution*>(node.xnode_union());
      return is_convolution(datatype(n.input1_id()), datatype(n.filter_id()),
                            datatype(n.output_id()));
    }
    case Datatypes::MatrixProduct: {
      const auto& n = *static_cast<const fb::FullyConnected*>(node.xnode_union());
      return is_matrix_product(datatype(n.input1_id()), datatype(n.filter_id()),
                               datatype(n.output_id()));
    }
    case Datatypes::MaximaAndPositions: {
      // XNNPACK writes positions of 32 bits, whatever the value says.
      const auto& n = *static_cast<const fb::ArgMaxPooling2d*>(node.xnode_union());
      return datatype(n.input_id()) == datatype(n.output_value_id()) &&
             bits_of(datatype(n.output_index_id())) == 32;
    }
    case Datatypes::Any:
      return true;
    default:
      break;
  }
  const auto* table = static_cast<const flatbuffers::Table*>(node.xnode_union());
  const Datatypes rule = row_of(node).datatypes;
  Datatype expected = Datatype::Invalid;
  for (const NodeField& row : rows::kNodeFields) {
    if (row.layout == layout_of(node) && row.role <= Role::Result) {
      const auto id = table->GetField<uint32_t>(row.vtable_slot, 0);
      const Datatype type = id == kInvalidId ? expected : datatype(id);
      if ((rule == Datatypes::Selection && row.vtable_slot == fb::Select::VT_CONDITION_ID) ||
          (rule == Datatypes::Comparison && row.role == Role::Result)) {
        if (type != Datatype::Bool) {
          return false;
        }
        continue;
      }
      if (expected != Datatype::Invalid && type != expected) {
        return false;
      }
      expected = type;
    }
  }
  return true;
}

}  // namespace

Result<Span<const uint8_t>> part_of(Span<const uint8_t> bytes, const char* what, uint64_t offset,
                                    uint64_t size) {
  ET_CHECK_OR_RETURN_ERROR(offset <= bytes.size() && size <= bytes.size() - offset, InvalidProgram,
                           "xnnpack payload: %s has %" PRIu64 " bytes at %" PRIu64
                           ", the payload has %zu",
                           what, size, offset, bytes.size());
  return Span<const uint8_t>(bytes.data() + offset, static_cast<size_t>(size));
}

Error verify_graph(const fb::XNNGraph& graph, Span<const uint8_t> constants) {
  return Verifier(graph, constants).run();
}

}  // namespace executorch::backends::xnnpack
