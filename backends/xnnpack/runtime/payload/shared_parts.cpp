// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/shared_parts.h>

#include <inttypes.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Error;
using runtime::internal::count;

namespace {

// Entries with different bytes of one constant: writers give each constant bytes of its own.
constexpr uint64_t kOverlaps = 4;
// Values of one constant that are always allowed; more are up to a share of the machine's memory.
constexpr uint64_t kRepeats = 32;
// A node and its result take some 180 bytes of the flatbuffer: every node may have 11,000 items.
constexpr uint64_t kItemsPerByte = 64;
// Bytes of packed weights of transposed convolutions for each byte of the payload. An int8 weight
// of a depthwise layer takes 384 where the window has as many taps as the strides step over.
constexpr uint64_t kPackedPerByte = 512;
// Channels that packing rounds up to, and the bytes of a bias, with its scale, and of a weight.
constexpr uint64_t kPackedOutputs = 16, kPackedInputs = 8;
constexpr double kBiasBytes = 8, kWeightBytes = 2;
// Small payloads may share more.
constexpr uint64_t kAlwaysAllowed = uint64_t{1} << 16;

/// Adds up the parts that tables refer to. Sums saturate.
class Total final {
 public:
  explicit Total(uint64_t limit) : limit_(std::max(limit, kAlwaysAllowed)) {}
  [[nodiscard]] bool add(uint64_t part) {
    sum_ = part > UINT64_MAX - sum_ ? UINT64_MAX : sum_ + part;
    return sum_ <= limit_;
  }
  uint64_t limit() const { return limit_; }

 private:
  uint64_t sum_ = 0, limit_;
};

/// Bytes of a value's scales that are a constant of their own.
uint64_t scale_constant_bytes(const fb::QuantizedTensorValue& value) {
  if (const auto* channels = value.quant_params_as_PerChannelQuant()) {
    return channels->scale_buffer_idx() == 0 ? 0 : uint64_t{channels->num_scales()} * sizeof(float);
  }
  const auto* groups = value.quant_params_as_PerChannelGroupQuant();
  return groups == nullptr ? 0 : uint64_t{groups->num_scales()} * sizeof(uint16_t);
}

/// Scales in the flatbuffer.
uint64_t inline_scales(const fb::XValue& value) {
  const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
  const auto* channels =
      quantized == nullptr ? nullptr : quantized->quant_params_as_PerChannelQuant();
  return channels == nullptr ? 0 : count(channels->scale());
}

/// The name of an entry's data; empty if the payload contains it.
std::string_view name_of(const fb::ConstantDataOffset& entry) {
  return entry.offset() == kInNamedData ? entry.named_key()->string_view() : std::string_view();
}

/// The bytes of a payload's constants; named data of one name counts once. Saturates.
uint64_t constant_bytes(const Payload& payload) {
  constexpr uint64_t kMax = UINT64_MAX / kRepeats;
  const auto* table = payload.graph->constant_data();
  uint64_t bytes = payload.constants.size();
  std::set<std::string_view> names;
  for (uint32_t i = 1; i < count(table); ++i) {
    const fb::ConstantDataOffset& entry = *table->Get(i);
    if (entry.offset() == kInNamedData && names.insert(name_of(entry)).second) {
      bytes += std::min(entry.size(), kMax - std::min(bytes, kMax));
    }
  }
  return bytes;
}

/// Entries of the same bytes share memory. Unaligned data of other entries is copied once for each
/// entry.
Error check_entries(const Payload& payload, uint64_t bytes) {
  const auto* table = payload.graph->constant_data();
  Total total(kOverlaps * bytes);
  std::set<std::tuple<std::string_view, uint64_t, uint64_t>> known;
  for (uint32_t i = 1; i < count(table); ++i) {
    const fb::ConstantDataOffset& entry = *table->Get(i);
    const bool is_known = !known.insert({name_of(entry), entry.offset(), entry.size()}).second;
    ET_CHECK_OR_RETURN_ERROR(is_known || total.add(entry.size()), InvalidProgram,
                             "xnnpack payload: constants up to entry %" PRIu32
                             " overlap; together they have more than %" PRIu64
                             " bytes, although there are %" PRIu64 " bytes of constants",
                             i, total.limit(), bytes);
  }
  return Error::Ok;
}

/// Operators may convert each constant value, and each of its scales is validated. Layers that
/// share quantized weights have a value each.
Error check_values(const Payload& payload, uint64_t bytes) {
  Total total(std::max<uint64_t>(kRepeats * bytes, extension::three_quarters_of_memory()));
  for (uint32_t i = 0; i < count(payload.graph->xvalues()); ++i) {
    const fb::XValue& value = *payload.graph->xvalues()->Get(i);
    const fb::TensorValue& tensor = tensor_of(value);
    const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
    const uint64_t scales = quantized == nullptr ? 0 : scale_constant_bytes(*quantized);
    ET_CHECK_OR_RETURN_ERROR(
        total.add(tensor.constant_buffer_idx() == 0 ? 0 : tensor_bytes(tensor)) &&
            total.add(scales),
        InvalidProgram,
        "xnnpack payload: values up to entry %" PRIu32
        " share constants; together they have more "
        "than %" PRIu64 " bytes",
        i, total.limit());
  }
  return Error::Ok;
}

/// Shape inference reads the lists of every node, the keys of packed weights the scales of its
/// operands.
Error check_lists(const Payload& payload) {
  const std::vector<const fb::XValue*> values = values_by_id(*payload.graph);
  Total total(kItemsPerByte * sizeof(uint64_t) * payload.graph_bytes->size());
  for (const fb::XValue* value : values) {
    // The limit is checked with the nodes.
    (void)total.add(inline_scales(*value));
  }
  for (uint32_t i = 0; i < count(payload.graph->xnodes()); ++i) {
    const fb::XNode& node = *payload.graph->xnodes()->Get(i);
    const auto* table = static_cast<const flatbuffers::Table*>(node.xnode_union());
    uint64_t items = 0;
    for (const NodeField& row : rows::kNodeFields) {
      if (row.layout != layout_of(node)) {
        continue;
      }
      if (row.role == Role::Numbers) {
        items += count(table->GetPointer<const flatbuffers::Vector<uint32_t>*>(row.vtable_slot));
      } else if (row.role <= Role::Result) {
        const auto id = table->GetField<uint32_t>(row.vtable_slot, 0);
        items += id < values.size() ? inline_scales(*values[id]) : 0;
      }
    }
    ET_CHECK_OR_RETURN_ERROR(total.add(items), InvalidProgram,
                             "xnnpack payload: nodes up to %" PRIu32
                             " share lists; together they have more than %" PRIu64 " items",
                             i, total.limit());
  }
  return Error::Ok;
}

/// Packed weights of a transposed convolution have a bias for each output and each place that a
/// stride steps over, although the payload has as few as one byte for each output.
uint64_t transposed_bytes(const fb::Convolution& node) {
  // Floats, because the product may not fit 64 bits.
  const double places = 1.0 * node.subsampling_height() * node.subsampling_width();
  const double taps = 1.0 * node.kernel_height() * node.kernel_width();
  const auto rounded_up = [](uint64_t channels, uint64_t to) {
    const uint64_t blocks = (channels + to - 1) / to;
    return static_cast<double>(blocks * to);
  };
  const double outputs = node.groups() * rounded_up(node.group_output_channels(), kPackedOutputs);
  const double weights = taps * rounded_up(node.group_input_channels(), kPackedInputs);
  const double bytes = outputs * (places * kBiasBytes + weights * kWeightBytes);
  constexpr double kMax = 0x1p62;
  return static_cast<uint64_t>(std::min(bytes, kMax));
}

Error check_transposed(const Payload& payload, uint64_t bytes) {
  const uint64_t all = bytes + std::min<uint64_t>(payload.graph_bytes->size(), UINT64_MAX - bytes);
  Total total(all > UINT64_MAX / kPackedPerByte ? UINT64_MAX : kPackedPerByte * all);
  for (uint32_t i = 0; i < count(payload.graph->xnodes()); ++i) {
    const fb::XNode& node = *payload.graph->xnodes()->Get(i);
    ET_CHECK_OR_RETURN_ERROR(
        node.xnode_union_type() != fb::XNodeUnion::ConvTranspose2d ||
            total.add(transposed_bytes(*static_cast<const fb::Convolution*>(node.xnode_union()))),
        InvalidProgram,
        "xnnpack payload: packed weights of transposed convolutions up to node %" PRIu32
        " have more than %" PRIu64
        " bytes, because strides are wider than windows or several nodes share weights",
        i, total.limit());
  }
  return Error::Ok;
}

}  // namespace

Error check_shared_parts(const Payload& payload) {
  const uint64_t bytes = constant_bytes(payload);
  ET_CHECK_OK_OR_RETURN_ERROR(check_transposed(payload, bytes));
  ET_CHECK_OK_OR_RETURN_ERROR(check_entries(payload, bytes));
  ET_CHECK_OK_OR_RETURN_ERROR(check_values(payload, bytes));
  return check_lists(payload);
}

}  // namespace executorch::backends::xnnpack
