// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/graph_builder.h>

#include <inttypes.h>

#include <executorch/backends/xnnpack/runtime/node_definitions.h>
#include <executorch/backends/xnnpack/runtime/node_layouts.h>
#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Error;
using runtime::Result;
using runtime::internal::count;

namespace {

// The datatypes by their numbers in the payload.
constexpr xnn_datatype kDatatypes[] = {
    xnn_datatype_invalid, xnn_datatype_fp32,    xnn_datatype_fp16,    xnn_datatype_qint8,
    xnn_datatype_quint8,  xnn_datatype_qint32,  xnn_datatype_qcint8,  xnn_datatype_qcint32,
    xnn_datatype_qcint4,  xnn_datatype_qdint8,  xnn_datatype_qbint4,  xnn_datatype_qpint8,
    xnn_datatype_int32,   xnn_datatype_invalid, xnn_datatype_invalid,
};

// What is taken off every integer of four bits, which are kept without signs.
constexpr int32_t kNibbleZero = 8;

/// What xnn_define_*_tensor_value() functions take in common.
struct Tensor {
  xnn_datatype datatype;
  size_t rank;
  size_t dims[XNN_MAX_TENSOR_DIMS];
  const void* data;
  uint32_t external_id;
  uint32_t flags;
};

template <typename T>
const T* scales_of(const Constants& constants, uint32_t buffer, const T* inside) {
  return buffer == 0 ? inside : static_cast<const T*>(constants.data(buffer));
}

xnn_status define_quantized(xnn_subgraph_t graph, const fb::QuantizedTensorValue& value,
                            const Tensor& t, const Constants& constants, uint32_t* id) {
  if (const auto* one = value.quant_params_as_PerTensorQuant()) {
    return xnn_define_quantized_tensor_value(graph, t.datatype, one->zero_point(), one->scale(),
                                             t.rank, t.dims, t.data, t.external_id, t.flags, id);
  }
  if (const auto* channels = value.quant_params_as_PerChannelQuant()) {
    const float* inside = channels->scale() == nullptr ? nullptr : channels->scale()->data();
    return xnn_define_channelwise_quantized_tensor_value_v2(
        graph, t.datatype, t.datatype == xnn_datatype_qcint4 ? kNibbleZero : 0,
        scales_of(constants, channels->scale_buffer_idx(), inside), t.rank,
        static_cast<size_t>(channels->channel_dim()), t.dims, t.data, t.external_id, t.flags, id);
  }
  if (const auto* tokens = value.quant_params_as_PerTokenDynamicQuant()) {
    return xnn_define_dynamically_quantized_tensor_value(
        graph, t.datatype, t.rank, static_cast<size_t>(tokens->num_nonbatch_dims()), t.dims,
        t.external_id, t.flags, id);
  }
  const auto* groups = value.quant_params_as_PerChannelGroupQuant();
  return xnn_define_blockwise_quantized_tensor_value(
      graph, t.datatype, kNibbleZero,
      scales_of<uint16_t>(constants, groups->scale_buffer_idx(), nullptr), t.rank,
      static_cast<size_t>(groups->channel_dim()), static_cast<size_t>(groups->group_size()), t.dims,
      t.data, t.external_id, t.flags, id);
}

Result<uint32_t> define_value(xnn_subgraph_t graph, const fb::XValue& value,
                              const Constants& constants) {
  const fb::TensorValue& given = tensor_of(value);
  Tensor t{kDatatypes[static_cast<size_t>(given.datatype())],
           count(given.dims()),
           {},
           constants.data(given.constant_buffer_idx()),
           given.external_id(),
           given.flags() & (XNN_VALUE_FLAG_EXTERNAL_INPUT | XNN_VALUE_FLAG_EXTERNAL_OUTPUT)};
  ET_CHECK_OR_RETURN_ERROR(t.datatype != xnn_datatype_invalid, NotSupported,
                           "xnnpack: value %" PRIu32 " has datatype %s, which this version lacks",
                           given.id_out(), fb::EnumNameDatatype(given.datatype()));
  for (size_t d = 0; d < t.rank; ++d) {
    t.dims[d] = given.dims()->Get(static_cast<uint32_t>(d));
  }
  uint32_t id = XNN_INVALID_VALUE_ID;
  const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
  const xnn_status status = quantized == nullptr
                                ? xnn_define_tensor_value(graph, t.datatype, t.rank, t.dims, t.data,
                                                          t.external_id, t.flags, &id)
                                : define_quantized(graph, *quantized, t, constants, &id);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, InvalidProgram,
                           "xnnpack refuses value %" PRIu32 ": %s", given.id_out(),
                           status_text(status));
  return id;
}

/// Whether each node's results reach an output. Chains of nodes that do not are left out: XNNPACK
/// ends the process on them.
std::vector<bool> needed_nodes(const fb::XNNGraph& graph) {
  std::vector<bool> needed(count(graph.xvalues())), nodes(count(graph.xnodes()));
  for (uint32_t i = 0; i < count(graph.output_ids()); ++i) {
    needed[graph.output_ids()->Get(i)] = true;
  }
  // Verified: each value is made before it is read.
  for (size_t i = nodes.size(); i-- > 0;) {
    const fb::XNode& node = *graph.xnodes()->Get(static_cast<uint32_t>(i));
    visit_numbers(node, [&](const NodeField& row, uint32_t id) {
      nodes[i] = nodes[i] || (row.role == Role::Result && needed[id]);
    });
    visit_numbers(node, [&](const NodeField& row, uint32_t id) {
      // Beyond all values: an operand that is left out.
      if (nodes[i] && row.role < Role::Result && id < needed.size()) {
        needed[id] = true;
      }
    });
  }
  return nodes;
}

}  // namespace

Result<Subgraph> build_graph(const Payload& payload, const Constants& constants) {
  const fb::XNNGraph& graph = *payload.graph;
  xnn_subgraph_t created = nullptr;
  xnn_status status = xnn_create_subgraph(graph.num_externs(), /*flags=*/0, &created);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, MemoryAllocationFailed,
                           "xnnpack: no graph of %" PRIu32 " arguments: %s", graph.num_externs(),
                           status_text(status));
  Subgraph subgraph(created);
  // The payload's id → XNNPACK's.
  std::vector<uint32_t> ids(count(graph.xvalues()), XNN_INVALID_VALUE_ID);
  std::vector<const fb::TensorValue*> values(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const fb::XValue& value = *graph.xvalues()->Get(static_cast<uint32_t>(i));
    values[tensor_of(value).id_out()] = &tensor_of(value);
    ids[tensor_of(value).id_out()] = ET_UNWRAP(define_value(created, value, constants));
  }
  const std::vector<bool> needed = needed_nodes(graph);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) {
      continue;
    }
    const fb::XNode& node = *graph.xnodes()->Get(static_cast<uint32_t>(i));
    status = define_node(created, node, {ids.data(), ids.size()}, {values.data(), values.size()});
    ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, InvalidProgram,
                             "xnnpack refuses node %zu (%s): %s", i,
                             fb::EnumNameXNodeUnion(node.xnode_union_type()), status_text(status));
  }
  return subgraph;
}

}  // namespace executorch::backends::xnnpack
