// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <backends/xnnpack/payload/payload_builder.h>

#include <string.h>

#include <map>
#include <utility>

#include <executorch/backends/xnnpack/runtime/payload/node_table.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace {

constexpr size_t kHeaderSize = 30;

template <typename T>
void write(std::vector<uint8_t>& bytes, size_t at, T number) {
  memcpy(bytes.data() + at, &number, sizeof(T));
}

std::pair<fb::XNNQuantParams, Offset<void>> quantization_of(FlatBufferBuilder& b,
                                                            const TestValue& value) {
  const auto scales = b.CreateVector(value.scales);
  switch (value.quantization) {
    case Quantization::Channels:
      return {fb::XNNQuantParams::PerChannelQuant,
              fb::CreatePerChannelQuant(b, scales, value.quantized_dim, value.scale_buffer,
                                        value.scale_count)
                  .Union()};
    case Quantization::Tokens:
      return {fb::XNNQuantParams::PerTokenDynamicQuant,
              fb::CreatePerTokenDynamicQuant(b, value.quantized_dim).Union()};
    case Quantization::Groups:
      return {fb::XNNQuantParams::PerChannelGroupQuant,
              fb::CreatePerChannelGroupQuant(b, scales, value.quantized_dim, value.group, 0,
                                             value.scale_buffer, value.scale_count)
                  .Union()};
    default:
      return {fb::XNNQuantParams::PerTensorQuant,
              fb::CreatePerTensorQuant(b, value.scale, value.zero_point).Union()};
  }
}

Offset<fb::XValue> add(FlatBufferBuilder& b, const TestValue& value, size_t index) {
  const auto dims = b.CreateVector(value.dims);
  const auto rank =
      static_cast<uint32_t>(value.dims.size()) + static_cast<uint32_t>(value.wrong_rank);
  const auto tensor = fb::CreateTensorValue(
      b, value.datatype, rank, dims, value.constant, value.external, value.flags,
      static_cast<uint32_t>(index) + static_cast<uint32_t>(value.wrong_id));
  if (value.quantization == Quantization::None) {
    return fb::CreateXValue(b, fb::XValueUnion::TensorValue, tensor.Union());
  }
  const auto [kind, parameters] = quantization_of(b, value);
  return fb::CreateXValue(b, fb::XValueUnion::QuantizedTensorValue,
                          fb::CreateQuantizedTensorValue(b, tensor, kind, parameters).Union());
}

using List = Offset<flatbuffers::Vector<uint32_t>>;

/// @param known The lists of earlier nodes, if nodes share them; else null.
Offset<fb::XNode> add(FlatBufferBuilder& b, const TestNode& node,
                      std::map<std::vector<uint32_t>, List>* known) {
  std::vector<List> lists;
  for (const std::vector<uint32_t>& list : node.lists) {
    if (known == nullptr) {
      lists.push_back(b.CreateVector(list));
      continue;
    }
    const auto shared = known->find(list);
    lists.push_back(shared == known->end() ? b.CreateVector(list) : shared->second);
    known->emplace(list, lists.back());
  }
  const Layout layout = rows::kNodes[static_cast<size_t>(node.kind) - 1].layout;
  const flatbuffers::uoffset_t start = b.StartTable();
  size_t number = 0, list = 0;
  for (const NodeField& row : rows::kNodeFields) {
    if (row.layout != layout) {
      continue;
    }
    if (row.role == Role::Numbers) {
      if (list < lists.size()) {
        b.AddOffset(row.vtable_slot, lists[list++]);
      }
    } else if (number < node.numbers.size()) {
      b.AddElement<uint32_t>(row.vtable_slot, node.numbers[number++], 0);
    }
  }
  const Offset<void> table(b.EndTable(start));
  const auto limits = node.is_limited ? fb::CreateOutputMinMax(b, node.output_min, node.output_max)
                                      : Offset<fb::OutputMinMax>();
  return fb::CreateXNode(b, node.kind, table, 0, limits, node.full_precision);
}

}  // namespace

TestValue input(uint32_t number, std::vector<uint32_t> dims) {
  TestValue value;
  value.dims = std::move(dims);
  value.external = number;
  value.flags = kInputFlag;
  return value;
}

TestValue output(uint32_t number, std::vector<uint32_t> dims) {
  TestValue value = input(number, std::move(dims));
  value.flags = kOutputFlag;
  return value;
}

TestValue constant(uint32_t entry, std::vector<uint32_t> dims) {
  TestValue value;
  value.dims = std::move(dims);
  value.constant = entry;
  return value;
}

TestValue with(TestValue value, fb::Datatype datatype) {
  value.datatype = datatype;
  return value;
}

std::vector<uint8_t> TestPayload::bytes() const {
  std::vector<uint32_t> input_ids = inputs, output_ids = outputs;
  for (size_t i = 0; inputs.empty() && outputs.empty() && i < values.size(); ++i) {
    if (values[i].external != kNoId) {
      (values[i].flags == kInputFlag ? input_ids : output_ids).push_back(static_cast<uint32_t>(i));
    }
  }
  FlatBufferBuilder b;
  std::vector<Offset<fb::XValue>> value_offsets;
  for (size_t i = 0; i < values.size(); ++i) {
    value_offsets.push_back(add(b, values[i], i));
  }
  std::vector<Offset<fb::XNode>> node_offsets;
  std::map<std::vector<uint32_t>, List> known;
  for (const TestNode& node : nodes) {
    node_offsets.push_back(add(b, node, shares_lists ? &known : nullptr));
  }
  std::vector<Offset<fb::ConstantDataOffset>> constant_offsets;
  for (const TestConstant& entry : constants) {
    const auto name =
        entry.name.empty() ? Offset<flatbuffers::String>() : b.CreateString(entry.name);
    constant_offsets.push_back(fb::CreateConstantDataOffset(b, entry.offset, entry.size, name));
  }
  const auto arguments = static_cast<uint32_t>(input_ids.size() + output_ids.size()) +
                         static_cast<uint32_t>(wrong_arguments);
  b.Finish(fb::CreateXNNGraph(b, b.CreateString("0"), b.CreateVector(node_offsets),
                              b.CreateVector(value_offsets), arguments, b.CreateVector(input_ids),
                              b.CreateVector(output_ids), 0, 0, b.CreateVector(constant_offsets)),
           fb::XNNGraphIdentifier());
  constexpr size_t kGraphAt = (kHeaderSize + 15) / 16 * 16;
  std::vector<uint8_t> bytes(kGraphAt);
  bytes.insert(bytes.end(), b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
  const size_t constants_at = (bytes.size() + 15) / 16 * 16;
  bytes.resize(constants_at);
  bytes.resize(constants_at + constant_bytes, constant_fill);
  memcpy(bytes.data() + 4, "XH00", 4);
  write<uint16_t>(bytes, 8, kHeaderSize);
  write<uint32_t>(bytes, 10, kGraphAt);
  write<uint32_t>(bytes, 14, b.GetSize());
  write<uint32_t>(bytes, 18, static_cast<uint32_t>(constants_at));
  write<uint64_t>(bytes, 22, constant_bytes);
  return bytes;
}

}  // namespace executorch::backends::xnnpack
