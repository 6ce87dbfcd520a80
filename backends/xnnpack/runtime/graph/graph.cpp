// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/graph/graph.h>

#include <inttypes.h>

#include <cmath>

#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Error;
using runtime::Result;
using runtime::internal::count;

namespace {

// The zero point of 4-bit weights, which are stored unsigned.
constexpr int32_t kNibbleZeroPoint = 8;
// XNNPACK's kernels support block sizes that are multiples of this.
constexpr size_t kBlockMultiple = 32;

bool is_valid_scale(float scale) { return std::isnormal(scale) && scale > 0; }

bool is_valid_zero_point(Datatype datatype, int32_t zero_point) {
  switch (datatype) {
    case Datatype::QInt8:
      return zero_point >= -128 && zero_point <= 127;
    case Datatype::QUInt8:
      return zero_point >= 0 && zero_point <= 255;
    default:
      return zero_point == 0;
  }
}

/// A bfloat16 that is normal and positive.
bool is_valid_block_scale(uint16_t bits) {
  const uint32_t exponent = (bits >> 7) & 0xff;
  return (bits & 0x8000) == 0 && exponent != 0 && exponent != 0xff;
}

bool read_quantization(const fb::QuantizedTensorValue& from, const Constants& constants,
                       Value* value) {
  if (const auto* one = from.quant_params_as_PerTensorQuant()) {
    value->scale = one->scale();
    value->zero_point = one->zero_point();
    return (value->datatype == Datatype::QInt8 || value->datatype == Datatype::QUInt8 ||
            value->datatype == Datatype::QInt32) &&
           is_valid_scale(value->scale) && is_valid_zero_point(value->datatype, value->zero_point);
  }
  if (const auto* channels = from.quant_params_as_PerChannelQuant()) {
    const float* inside = channels->scale() == nullptr ? nullptr : channels->scale()->data();
    value->channel_scales =
        channels->scale_buffer_idx() == 0
            ? inside
            : static_cast<const float*>(constants.data(channels->scale_buffer_idx()));
    value->channel_dim = static_cast<size_t>(channels->channel_dim());
    value->zero_point = value->datatype == Datatype::QCInt4 ? kNibbleZeroPoint : 0;
    for (size_t i = 0; i < value->declared.dims[value->channel_dim]; ++i) {
      if (!is_valid_scale(value->channel_scales[i])) {
        return false;
      }
    }
    return value->datatype == Datatype::QCInt8 || value->datatype == Datatype::QCInt4 ||
           value->datatype == Datatype::QCInt32;
  }
  if (const auto* rows = from.quant_params_as_PerTokenDynamicQuant()) {
    value->row_dims = static_cast<size_t>(rows->num_nonbatch_dims());
    return value->datatype == Datatype::QDInt8;
  }
  const auto& blocks = *from.quant_params_as_PerChannelGroupQuant();
  value->block_scales = static_cast<const uint16_t*>(constants.data(blocks.scale_buffer_idx()));
  value->block_size = static_cast<size_t>(blocks.group_size());
  value->zero_point = kNibbleZeroPoint;
  const uint64_t total = elements(value->declared) / value->block_size;
  for (uint64_t i = 0; i < total; ++i) {
    if (!is_valid_block_scale(value->block_scales[i])) {
      return false;
    }
  }
  return value->datatype == Datatype::QBInt4 && value->block_size % kBlockMultiple == 0;
}

Result<Value> read_value(const fb::XValue& from, const Constants& constants) {
  const fb::TensorValue& tensor = tensor_of(from);
  Value value;
  value.datatype = tensor.datatype();
  value.declared = declared_shape(tensor);
  value.data = constants.data(tensor.constant_buffer_idx());
  value.source_data = value.data;
  value.argument = tensor.external_id();
  value.shape_source = tensor.id_out();
  const auto* quantized = from.xvalue_union_as_QuantizedTensorValue();
  ET_CHECK_OR_RETURN_ERROR(
      quantized == nullptr || read_quantization(*quantized, constants, &value), InvalidProgram,
      "xnnpack payload: value %" PRIu32 " (%s) has invalid scales, zero points or block sizes",
      tensor.id_out(), fb::EnumNameDatatype(value.datatype));
  return value;
}

template <typename Table>
Window2d padding_of(const Table& n) {
  Window2d window;
  window.top = n.padding_top();
  window.right = n.padding_right();
  window.bottom = n.padding_bottom();
  window.left = n.padding_left();
  return window;
}

Window2d window_of(const fb::Convolution& n) {
  Window2d window = padding_of(n);
  window.height = n.kernel_height();
  window.width = n.kernel_width();
  window.stride_height = n.subsampling_height();
  window.stride_width = n.subsampling_width();
  window.dilation_height = n.dilation_height();
  window.dilation_width = n.dilation_width();
  return window;
}

Window2d window_of(const fb::Pooling& n) {
  Window2d window = padding_of(n);
  window.height = n.pooling_height();
  window.width = n.pooling_width();
  window.stride_height = n.stride_height();
  window.stride_width = n.stride_width();
  window.dilation_height = n.dilation_height();
  window.dilation_width = n.dilation_width();
  return window;
}

Window2d window_of(const fb::ArgMaxPooling2d& n) {
  Window2d window = padding_of(n);
  window.height = window.stride_height = n.pooling_height();
  window.width = window.stride_width = n.pooling_width();
  return window;
}

Window2d read_window(const fb::XNode& node) {
  const void* const fields = node.xnode_union();
  switch (layout_of(node)) {
    case Layout::Convolution:
      return window_of(*static_cast<const fb::Convolution*>(fields));
    case Layout::Pooling:
      return window_of(*static_cast<const fb::Pooling*>(fields));
    case Layout::ArgMaxPooling2d:
      return window_of(*static_cast<const fb::ArgMaxPooling2d*>(fields));
    default:
      return {};
  }
}

Node read_node(const fb::XNode& from) {
  Node node;
  node.kind = from.xnode_union_type();
  node.fields = from.xnode_union();
  node.debug_handle = from.debug_handle();
  node.has_full_precision = from.full_precision();
  if (const fb::OutputMinMax* range = from.output_min_max()) {
    node.clamp = {range->output_min(), range->output_max()};
  }
  node.window = read_window(from);
  visit_numbers(from, [&](const NodeField& row, uint32_t number) {
    if (row.role == Role::Result) {
      node.results[node.result_count++] = number;
    } else if (row.role == Role::Flags) {
      node.flags = number;
    } else if (row.role != Role::Number) {
      node.operands[node.operand_count++] = number;
    }
  });
  // The table has fields for the largest number of operands; this kind uses the first ones.
  if (const size_t given = concatenated(node.kind)) {
    node.operand_count = given;
  }
  return node;
}

/// Removes nodes whose results reach no output.
void remove_unneeded(Graph* graph) {
  std::vector<bool> needed(graph->values.size());
  for (size_t i = graph->input_count; i < graph->arguments.size(); ++i) {
    needed[graph->arguments[i]] = true;
  }
  std::vector<Node> kept;
  for (size_t i = graph->nodes.size(); i-- > 0;) {
    const Node& node = graph->nodes[i];
    bool is_needed = false;
    for (size_t r = 0; r < node.result_count; ++r) {
      is_needed = is_needed || needed[node.results[r]];
    }
    if (!is_needed) {
      continue;
    }
    for (size_t o = 0; o < node.operand_count; ++o) {
      if (node.operands[o] != kNoValue) {
        needed[node.operands[o]] = true;
      }
    }
    kept.push_back(node);
  }
  graph->nodes.assign(kept.rbegin(), kept.rend());
}

}  // namespace

Result<Graph> Graph::read(const Payload& payload, const Constants& constants) {
  const fb::XNNGraph& from = *payload.graph;
  Graph graph;
  for (const fb::XValue* value : values_by_id(from)) {
    graph.values.push_back(ET_UNWRAP(read_value(*value, constants)));
  }
  graph.input_count = count(from.input_ids());
  graph.arguments = argument_ids(from);
  for (size_t i = 0; i < graph.input_count; ++i) {
    graph.values[graph.arguments[i]].is_input = true;
  }
  for (uint32_t i = 0; i < count(from.xnodes()); ++i) {
    graph.nodes.push_back(read_node(*from.xnodes()->Get(i)));
  }
  remove_unneeded(&graph);
  return graph;
}

void Graph::remove_nodes(const std::vector<bool>& chosen) {
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!chosen[i]) {
      kept.push_back(nodes[i]);
    }
  }
  nodes.swap(kept);
}

std::vector<size_t> Graph::count_uses() const {
  std::vector<size_t> uses(values.size());
  for (const Node& node : nodes) {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (node.operands[i] != kNoValue) {
        ++uses[node.operands[i]];
      }
    }
    if (node.residual != kNoValue) {
      ++uses[node.residual];
    }
  }
  for (size_t i = input_count; i < arguments.size(); ++i) {
    ++uses[arguments[i]];
  }
  return uses;
}

std::vector<size_t> Graph::producers() const {
  std::vector<size_t> indices(values.size(), SIZE_MAX);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t r = 0; r < nodes[i].result_count; ++r) {
      indices[nodes[i].results[r]] = i;
    }
  }
  return indices;
}

uint32_t Graph::add_value(Datatype datatype, uint32_t like) {
  Value value;
  value.datatype = datatype;
  value.declared = values[like].declared;
  value.shape_source = values[like].shape_source;
  values.push_back(value);
  return static_cast<uint32_t>(values.size() - 1);
}

size_t bytes_of(Datatype datatype, const Shape& shape) {
  return static_cast<size_t>((elements(shape) * bits_of(datatype) + 7) / 8);
}

}  // namespace executorch::backends::xnnpack
