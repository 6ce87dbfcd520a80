// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/weight_keys.h>

#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::internal::count;
using runtime::internal::items;

namespace {

constexpr uint32_t kInvalidId = UINT32_MAX;
using Values = std::vector<const fb::XValue*>;

/// The constant that a value is; 0 for none.
uint32_t constant_of(const Values& values, uint32_t id) {
  return id == kInvalidId ? 0 : tensor_of(*values[id]).constant_buffer_idx();
}

/// Filter and bias of a node that packs them. Without a filter, the node packs nothing.
struct Weights {
  uint32_t filter = kInvalidId;
  uint32_t bias = kInvalidId;
};

Weights weights_of(const fb::XNode& node) {
  if (layout_of(node) == Layout::Convolution) {
    const auto& convolution = *static_cast<const fb::Convolution*>(node.xnode_union());
    return {convolution.filter_id(), convolution.bias_id()};
  }
  if (layout_of(node) == Layout::FullyConnected) {
    const auto& connected = *static_cast<const fb::FullyConnected*>(node.xnode_union());
    return {connected.filter_id(), connected.bias_id()};
  }
  if (node.xnode_union_type() == fb::XNodeUnion::BatchMatrixMultiply) {
    return {static_cast<const fb::Node2x1*>(node.xnode_union())->input2_id(), kInvalidId};
  }
  return {};
}

/// The constant that holds a value's scales; 0 if they are elsewhere.
uint32_t scale_constant(const fb::XValue& value) {
  const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
  if (quantized == nullptr) {
    return 0;
  }
  if (const auto* channels = quantized->quant_params_as_PerChannelQuant()) {
    return channels->scale_buffer_idx();
  }
  const auto* groups = quantized->quant_params_as_PerChannelGroupQuant();
  return groups == nullptr ? 0 : groups->scale_buffer_idx();
}

}  // namespace

std::vector<bool> packed_constants(const Payload& payload) {
  const fb::XNNGraph& graph = *payload.graph;
  const Values values = values_by_id(graph);
  const size_t total = count(graph.constant_data());
  std::vector<bool> packed(total, false);
  std::vector<bool> read_later(total, false);
  for (uint32_t i = 0; i < count(graph.xnodes()); ++i) {
    const fb::XNode& node = *graph.xnodes()->Get(i);
    const Weights weights = weights_of(node);
    const uint32_t filter = constant_of(values, weights.filter);
    const uint32_t bias = constant_of(values, weights.bias);
    // If filter or bias is an argument, each run reads both. A matrix product packs its operand
    // when the sizes are known, after creation.
    const bool packs = filter != 0 && (bias != 0 || weights.bias == kInvalidId) &&
                       node.xnode_union_type() != fb::XNodeUnion::BatchMatrixMultiply;
    bool is_first = true;
    visit_numbers(node, [&](const NodeField& row, uint32_t id) {
      if (row.role != Role::Operand && row.role != Role::MaybeOperand) {
        return;
      }
      if (constant_of(values, id) != 0) {
        // Each run reads the first operand, even if it is also the filter.
        (packs && !is_first ? packed : read_later)[constant_of(values, id)] = true;
      }
      is_first = false;
    });
  }
  for (uint32_t i = 0; i < count(graph.xvalues()); ++i) {
    read_later[scale_constant(*graph.xvalues()->Get(i))] = true;
  }
  for (size_t i = 0; i < total; ++i) {
    packed[i] = packed[i] && !read_later[i];
  }
  return packed;
}

size_t size_of(const Payload& payload, const std::vector<bool>& chosen) {
  size_t size = 0;
  for (size_t i = 1; i < chosen.size(); ++i) {
    const auto* entry = payload.graph->constant_data()->Get(static_cast<uint32_t>(i));
    size += chosen[i] ? static_cast<size_t>(entry->size()) : 0;
  }
  return size;
}

WeightKeys::WeightKeys(const Payload& payload, const Constants& constants, ConstantDigests digests)
    : digests_(std::move(digests)), values_(values_by_id(*payload.graph)) {
  for (uint32_t i = 0; i < count(payload.graph->xnodes()); ++i) {
    const fb::XNode& node = *payload.graph->xnodes()->Get(i);
    const Weights weights = weights_of(node);
    const uint32_t filter = constant_of(values_, weights.filter);
    if (filter != 0) {
      const void* const bias = constants.data(constant_of(values_, weights.bias));
      users_[{constants.data(filter), bias}].nodes.push_back(&node);
    }
  }
}

void WeightKeys::add_quantization(const fb::XValue& value, Digester& digester) {
  const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
  if (quantized == nullptr) {
    digester.add_value(uint32_t{0});
    return;
  }
  digester.add_value(static_cast<uint32_t>(quantized->quant_params_type()));
  if (const auto* one = quantized->quant_params_as_PerTensorQuant()) {
    digester.add_float(one->scale());
    digester.add_value(one->zero_point());
  } else if (const auto* channels = quantized->quant_params_as_PerChannelQuant()) {
    digester.add_value(channels->channel_dim());
    digester.add(items(channels->scale()).data(), 4 * count(channels->scale()));
  } else if (const auto* groups = quantized->quant_params_as_PerChannelGroupQuant()) {
    digester.add_value(groups->channel_dim());
    digester.add_value(groups->group_size());
  }
  const uint32_t scales = scale_constant(value);
  if (scales != 0) {
    digester.add_digest(digests_.of(scales));
  }
}

Digest WeightKeys::digest_of_node(const fb::XNode& node) {
  Digester digester;
  digester.add_value(static_cast<uint32_t>(node.xnode_union_type()));
  visit_numbers(node, [&](const NodeField& row, uint32_t number) {
    if (row.role == Role::Number || row.role == Role::Flags) {
      digester.add_value(number);
      return;
    }
    if (number == kInvalidId) {
      digester.add_value(kInvalidId);
      return;
    }
    const fb::XValue& value = *values_[number];
    const fb::TensorValue& tensor = tensor_of(value);
    digester.add_value(static_cast<uint32_t>(tensor.datatype()));
    add_quantization(value, digester);
    const uint32_t constant = tensor.constant_buffer_idx();
    if (constant != 0) {
      digester.add(items(tensor.dims()).data(), 4 * count(tensor.dims()));
      digester.add_digest(digests_.of(constant));
    }
  });
  return digester.finish();
}

std::optional<Digest> WeightKeys::digest_of_users(const Users& users) {
  const Digest digest = digest_of_node(*users.nodes.front());
  for (size_t i = 1; i < users.nodes.size(); ++i) {
    if (digest_of_node(*users.nodes[i]) != digest) {
      return std::nullopt;
    }
  }
  return digest;
}

bool WeightKeys::find(uint32_t seed, const void* filter, const void* bias, Digest* key) {
  const auto entry = users_.find({filter, bias});
  if (entry == users_.end()) {
    return false;
  }
  Users& users = entry->second;
  if (!users.is_digested) {
    users.digest = digest_of_users(users);
    users.is_digested = true;
  }
  if (!users.digest) {
    return false;
  }
  Digester digester;
  digester.add_digest(*users.digest);
  digester.add_value(seed);
  *key = digester.finish();
  return true;
}

}  // namespace executorch::backends::xnnpack
