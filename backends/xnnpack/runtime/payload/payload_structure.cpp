// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/payload_structure.h>

#include <array>
#include <iterator>

#include <executorch/backends/xnnpack/runtime/payload/node_table.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using K = runtime::internal::FieldKind;
using runtime::internal::FieldRule;
using runtime::internal::Presence;
using runtime::internal::TableRule;

/// The tables by their indices; members of a union follow each other.
enum Table : uint8_t {
  kPerChannelQuant,
  kPerTensorQuant,
  kPerTokenDynamicQuant,
  kPerChannelGroupQuant,
  kTensorValue,
  kQuantizedTensorValue,
  kXValue,
  kOutputMinMax,
  kConstantDataOffset,
  kXNode,
  kXNNGraph,
  kFirstNode,
};

constexpr FieldRule kTableFields[] = {
    {kPerChannelQuant, fb::PerChannelQuant::VT_SCALE, K::Vector4},
    {kPerChannelQuant, fb::PerChannelQuant::VT_CHANNEL_DIM, K::Scalar4},
    {kPerChannelQuant, fb::PerChannelQuant::VT_SCALE_BUFFER_IDX, K::Scalar4},
    {kPerChannelQuant, fb::PerChannelQuant::VT_NUM_SCALES, K::Scalar4},
    {kPerTensorQuant, fb::PerTensorQuant::VT_SCALE, K::Scalar4},
    {kPerTensorQuant, fb::PerTensorQuant::VT_ZERO_POINT, K::Scalar4},
    {kPerTokenDynamicQuant, fb::PerTokenDynamicQuant::VT_NUM_NONBATCH_DIMS, K::Scalar4},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_SCALE, K::Vector4},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_CHANNEL_DIM, K::Scalar4},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_GROUP_SIZE, K::Scalar4},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_DEPRECATED_SCALES, K::Vector2},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_SCALE_BUFFER_IDX, K::Scalar4},
    {kPerChannelGroupQuant, fb::PerChannelGroupQuant::VT_NUM_SCALES, K::Scalar4},
    {kTensorValue, fb::TensorValue::VT_DATATYPE, K::Scalar2},
    {kTensorValue, fb::TensorValue::VT_NUM_DIMS, K::Scalar4},
    {kTensorValue, fb::TensorValue::VT_DIMS, K::Vector4},
    {kTensorValue, fb::TensorValue::VT_CONSTANT_BUFFER_IDX, K::Scalar4},
    {kTensorValue, fb::TensorValue::VT_EXTERNAL_ID, K::Scalar4},
    {kTensorValue, fb::TensorValue::VT_FLAGS, K::Scalar4},
    {kTensorValue, fb::TensorValue::VT_ID_OUT, K::Scalar4},
    {kQuantizedTensorValue, fb::QuantizedTensorValue::VT_TENSOR_VALUE, K::Table, Presence::Required,
     kTensorValue},
    {kQuantizedTensorValue, fb::QuantizedTensorValue::VT_QUANT_PARAMS, K::Union, Presence::Required,
     kPerChannelQuant, static_cast<uint8_t>(fb::XNNQuantParams::MAX)},
    {kXValue, fb::XValue::VT_XVALUE_UNION, K::Union, Presence::Required, kTensorValue,
     static_cast<uint8_t>(fb::XValueUnion::MAX)},
    {kOutputMinMax, fb::OutputMinMax::VT_OUTPUT_MIN, K::Scalar4},
    {kOutputMinMax, fb::OutputMinMax::VT_OUTPUT_MAX, K::Scalar4},
    {kConstantDataOffset, fb::ConstantDataOffset::VT_OFFSET, K::Scalar8},
    {kConstantDataOffset, fb::ConstantDataOffset::VT_SIZE, K::Scalar8},
    {kConstantDataOffset, fb::ConstantDataOffset::VT_NAMED_KEY, K::String},
    {kXNode, fb::XNode::VT_XNODE_UNION, K::Union, Presence::Required, kFirstNode,
     static_cast<uint8_t>(fb::XNodeUnion::MAX)},
    {kXNode, fb::XNode::VT_DEBUG_HANDLE, K::Scalar4},
    {kXNode, fb::XNode::VT_OUTPUT_MIN_MAX, K::Table, Presence::Optional, kOutputMinMax},
    {kXNode, fb::XNode::VT_FULL_PRECISION, K::Scalar1},
    {kXNNGraph, fb::XNNGraph::VT_VERSION, K::String},
    {kXNNGraph, fb::XNNGraph::VT_XNODES, K::TableVector, Presence::Optional, kXNode},
    {kXNNGraph, fb::XNNGraph::VT_XVALUES, K::TableVector, Presence::Optional, kXValue},
    {kXNNGraph, fb::XNNGraph::VT_NUM_EXTERNS, K::Scalar4},
    {kXNNGraph, fb::XNNGraph::VT_INPUT_IDS, K::Vector4},
    {kXNNGraph, fb::XNNGraph::VT_OUTPUT_IDS, K::Vector4},
    {kXNNGraph, fb::XNNGraph::VT_CONSTANT_DATA, K::TableVector, Presence::Optional,
     kConstantDataOffset},
};

constexpr size_t kTableFieldCount = std::size(kTableFields);
constexpr size_t kNodeFieldCount = std::size(rows::kNodeFields);
constexpr size_t kTableCount = kFirstNode + std::size(rows::kNodes);

// The layouts' rows follow the tables'; their owner is the first member of that layout.
constexpr auto kFields = [] {
  std::array<FieldRule, kTableFieldCount + kNodeFieldCount> fields{};
  for (size_t i = 0; i < kTableFieldCount; ++i) {
    fields[i] = kTableFields[i];
  }
  for (size_t i = 0; i < kNodeFieldCount; ++i) {
    const NodeField& row = rows::kNodeFields[i];
    fields[kTableFieldCount + i] = {kFirstNode, row.vtable_slot,
                                    row.role == Role::Numbers ? K::Vector4 : K::Scalar4};
  }
  return fields;
}();

constexpr auto kTables = [] {
  std::array<TableRule, kTableCount> tables{};
  for (size_t i = 0; i < kTableFieldCount; ++i) {
    TableRule& rule = tables[kTableFields[i].owner];
    rule.first = rule.count == 0 ? static_cast<uint8_t>(i) : rule.first;
    ++rule.count;
  }
  for (size_t node = 0; node < std::size(rows::kNodes); ++node) {
    TableRule& rule = tables[kFirstNode + node];
    for (size_t i = 0; i < kNodeFieldCount; ++i) {
      if (rows::kNodeFields[i].layout == rows::kNodes[node].layout) {
        rule.first = rule.count == 0 ? static_cast<uint8_t>(kTableFieldCount + i) : rule.first;
        ++rule.count;
      }
    }
  }
  return tables;
}();

constexpr auto kNames = [] {
  std::array<const char*, kTableCount> names{"PerChannelQuant",
                                             "PerTensorQuant",
                                             "PerTokenDynamicQuant",
                                             "PerChannelGroupQuant",
                                             "TensorValue",
                                             "QuantizedTensorValue",
                                             "XValue",
                                             "OutputMinMax",
                                             "ConstantDataOffset",
                                             "XNode",
                                             "XNNGraph"};
  for (size_t node = kFirstNode; node < kTableCount; ++node) {
    names[node] = "of a node";
  }
  return names;
}();

}  // namespace

const runtime::internal::StructureRules kPayloadStructure = {
    {kFields.data(), kFields.size()}, {kTables.data(), kTables.size()}, kNames.data(), kXNNGraph};

}  // namespace executorch::backends::xnnpack
