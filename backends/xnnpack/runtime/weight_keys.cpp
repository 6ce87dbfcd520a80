// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weight_keys.h>

#include <executorch/backends/xnnpack/runtime/mapped_file.h>
#include <executorch/backends/xnnpack/runtime/node_layouts.h>
#include <executorch/runtime/executor/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Result;
using runtime::internal::count;
using runtime::internal::items;

namespace {

constexpr uint32_t kInvalidId = UINT32_MAX;
// What is smaller takes less memory than mapping it twice takes time.
constexpr uint64_t kWorthGivingBack = uint64_t{256} << 10;
// What is smaller is read sooner than looked up.
constexpr size_t kWorthFinding = 4096;

/// The values of a payload by their ids.
class Values final {
 public:
  explicit Values(const fb::XNNGraph& graph) : by_id_(count(graph.xvalues())) {
    for (uint32_t i = 0; i < by_id_.size(); ++i) {
      const fb::XValue* value = graph.xvalues()->Get(i);
      by_id_[tensor_of(*value).id_out()] = value;
    }
  }
  const fb::XValue& value(uint32_t id) const { return *by_id_[id]; }
  /// The constant that a value is; 0 for none.
  uint32_t constant(uint32_t id) const {
    return id == kInvalidId ? 0 : tensor_of(*by_id_[id]).constant_buffer_idx();
  }

 private:
  std::vector<const fb::XValue*> by_id_;
};

/// Filter and bias of a node that packs them; without a filter it packs nothing.
struct Weights {
  uint32_t filter = kInvalidId;
  uint32_t bias = kInvalidId;
};

Weights weights_of(const fb::XNode& node) {
  if (layout_of(node) == kConvolution) {
    const auto& convolution = *static_cast<const fb::Convolution*>(node.xnode_union());
    return {convolution.filter_id(), convolution.bias_id()};
  }
  if (layout_of(node) == kFullyConnected) {
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

void add_quantization(const fb::XValue& value, const std::vector<Digest>& digests,
                      Digester& digester) {
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
    digester.add_value(digests[scales].low);
    digester.add_value(digests[scales].high);
  }
}

Digest node_digest(const fb::XNode& node, const Values& values,
                   const std::vector<Digest>& digests) {
  Digester digester;
  digester.add_value(static_cast<uint32_t>(node.xnode_union_type()));
  visit_numbers(node, [&](const NodeField& row, uint32_t number) {
    if (row.role == Role::Number) {
      digester.add_value(number);
      return;
    }
    if (number == kInvalidId) {
      digester.add_value(kInvalidId);
      return;
    }
    const fb::XValue& value = values.value(number);
    const fb::TensorValue& tensor = tensor_of(value);
    digester.add_value(static_cast<uint32_t>(tensor.datatype()));
    add_quantization(value, digests, digester);
    const uint32_t constant = tensor.constant_buffer_idx();
    if (constant != 0) {
      digester.add(items(tensor.dims()).data(), 4 * count(tensor.dims()));
      digester.add_value(digests[constant].low);
      digester.add_value(digests[constant].high);
    }
  });
  return digester.finish();
}

Result<Digest> digest_constant(const fb::ConstantDataOffset& entry, const void* data,
                               const ET_RUNTIME_NAMESPACE::NamedDataMap* names) {
  const auto size = static_cast<size_t>(entry.size());
  if (entry.offset() != kInNamedData || size < kWorthGivingBack) {
    return digest_of(data, size);
  }
  const runtime::FreeableBuffer again = ET_UNWRAP(load_named_constant(entry, names));
  return digest_of(again.data(), size);
}

}  // namespace

Result<std::vector<Digest>> digest_constants(const Payload& payload, const Constants& constants,
                                             const ET_RUNTIME_NAMESPACE::NamedDataMap* names,
                                             PackedFile* file) {
  std::vector<Digest> digests(count(payload.graph->constant_data()));
  std::optional<MappedFiles> mapped;
  for (size_t i = 1; i < digests.size(); ++i) {
    const fb::ConstantDataOffset& entry =
        *payload.graph->constant_data()->Get(static_cast<uint32_t>(i));
    const auto size = static_cast<size_t>(entry.size());
    if (file == nullptr || size < kWorthFinding) {
      digests[i] = ET_UNWRAP(digest_constant(entry, constants.data(i), names));
      continue;
    }
    if (!mapped) {
      mapped.emplace();
    }
    const std::optional<Digest> place = mapped->place_of(constants.data(i), size);
    const std::optional<Digest> known = place ? file->content_at(*place) : std::nullopt;
    digests[i] = known ? *known : ET_UNWRAP(digest_constant(entry, constants.data(i), names));
    if (place && !known) {
      file->add_content(*place, digests[i]);
    }
  }
  return digests;
}

std::vector<bool> packed_constants(const Payload& payload) {
  const fb::XNNGraph& graph = *payload.graph;
  const Values values(graph);
  const size_t total = count(graph.constant_data());
  std::vector<bool> packed(total, false);
  std::vector<bool> read_later(total, false);
  for (uint32_t i = 0; i < count(graph.xnodes()); ++i) {
    const fb::XNode& node = *graph.xnodes()->Get(i);
    const Weights weights = weights_of(node);
    const uint32_t filter = values.constant(weights.filter);
    const uint32_t bias = values.constant(weights.bias);
    // With one of them an argument, both are read whenever the node runs. A product's operand is
    // packed when the sizes are known.
    const bool packs = filter != 0 && (bias != 0 || weights.bias == kInvalidId) &&
                       node.xnode_union_type() != fb::XNodeUnion::BatchMatrixMultiply;
    visit_numbers(node, [&](const NodeField& row, uint32_t id) {
      const bool is_operand = row.role == Role::Operand || row.role == Role::MaybeOperand;
      if (is_operand && values.constant(id) != 0) {
        const bool is_weight = packs && (id == weights.filter || id == weights.bias);
        (is_weight ? packed : read_later)[values.constant(id)] = true;
      }
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

WeightKeys::WeightKeys(const Payload& payload, const std::vector<Digest>& digests,
                       const Constants& constants) {
  const fb::XNNGraph& graph = *payload.graph;
  const Values values(graph);
  for (uint32_t i = 0; i < count(graph.xnodes()); ++i) {
    const fb::XNode& node = *graph.xnodes()->Get(i);
    const Weights weights = weights_of(node);
    const uint32_t filter = values.constant(weights.filter);
    if (filter == 0) {
      continue;
    }
    const auto where =
        std::make_pair(constants.data(filter), constants.data(values.constant(weights.bias)));
    const Digest digest = node_digest(node, values, digests);
    const auto [entry, is_new] = entries_.emplace(where, Entry{digest, false});
    entry->second.is_ambiguous |= !is_new && entry->second.digest != digest;
  }
}

bool WeightKeys::find(uint32_t seed, const void* filter, const void* bias, Digest* key) const {
  const auto found = entries_.find({filter, bias});
  if (found == entries_.end() || found->second.is_ambiguous) {
    return false;
  }
  Digester digester;
  digester.add_value(found->second.digest.low);
  digester.add_value(found->second.digest.high);
  digester.add_value(seed);
  *key = digester.finish();
  return true;
}

}  // namespace executorch::backends::xnnpack
