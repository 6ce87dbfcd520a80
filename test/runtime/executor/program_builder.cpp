// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "program_builder.h"

#include <string.h>

namespace executorch::testing {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Kind = fb::KernelTypes;
using Call = fb::InstructionArguments;

TestValue none() { return {}; }
TestValue integer(int64_t number) {
  TestValue value;
  value.kind = Kind::Int;
  value.number = number;
  return value;
}
TestValue boolean(bool truth) {
  TestValue value;
  value.kind = Kind::Bool;
  value.number = truth ? 1 : 0;
  return value;
}
TestValue real(double number) {
  TestValue value;
  value.kind = Kind::Double;
  value.real = number;
  return value;
}
TestValue string(std::string text) {
  TestValue value;
  value.kind = Kind::String;
  value.string = std::move(text);
  return value;
}
TestValue list(Kind kind, std::vector<int64_t> items) {
  TestValue value;
  value.kind = kind;
  value.list = std::move(items);
  return value;
}
TestValue tensor(TestTensor tensor) {
  TestValue value;
  value.kind = Kind::Tensor;
  value.tensor = std::move(tensor);
  return value;
}
TestValue planned(int32_t elements, uint64_t offset) {
  TestTensor planned;
  planned.sizes = {elements};
  planned.memory_id = 1;
  planned.offset = offset;
  return tensor(planned);
}

TestInstruction kernel(int32_t op, std::vector<int32_t> arguments) {
  return {Call::KernelCall, op, 0, std::move(arguments)};
}
TestInstruction delegate(int32_t index, std::vector<int32_t> arguments) {
  return {Call::DelegateCall, index, 0, std::move(arguments)};
}
TestInstruction move(int32_t from, int32_t to) { return {Call::MoveCall, from, to, {}}; }
TestInstruction jump_false(int32_t condition, int32_t destination) {
  return {Call::JumpFalseCall, condition, destination, {}};
}
TestInstruction free_value(int32_t value) { return {Call::FreeCall, value, 0, {}}; }

namespace {

class Writer final {
 public:
  explicit Writer(FlatBufferBuilder& builder) : b_(builder) {}

  Offset<fb::Program> write(const TestProgram& program) {
    const auto plans = all<fb::ExecutionPlan>(program.plans);
    const auto buffers =
        vector_of<fb::Buffer>(program.constant_buffer, [&](const std::string& bytes) {
          b_.ForceVectorAlignment(bytes.size(), 1, 16);
          return fb::CreateBuffer(b_, byte_vector(bytes));
        });
    const auto inline_data = vector_of<fb::BackendDelegateInlineData>(
        program.inline_data, [&](const std::string& bytes) {
          return fb::CreateBackendDelegateInlineData(b_, byte_vector(bytes));
        });
    const auto segments = vector_of<fb::DataSegment>(program.segments, [&](const auto& segment) {
      return fb::CreateDataSegment(b_, segment.first, segment.second);
    });
    const auto constants = write(program.constants);
    const auto mutable_data = all<fb::SubsegmentOffsets>(program.mutable_data);
    const auto named = vector_of<fb::NamedData>(program.named_data, [&](const auto& entry) {
      return fb::CreateNamedData(b_, b_.CreateString(entry.first), entry.second);
    });
    return fb::CreateProgram(b_, program.version, plans, buffers, inline_data, segments, constants,
                             mutable_data, named);
  }

 private:
  template <typename T, typename Item, typename Write>
  Offset<flatbuffers::Vector<Offset<T>>> vector_of(const std::vector<Item>& items, Write write) {
    std::vector<Offset<T>> offsets;
    for (const Item& item : items) {
      offsets.push_back(write(item));
    }
    return b_.CreateVector(offsets);
  }
  template <typename T, typename Item>
  Offset<flatbuffers::Vector<Offset<T>>> all(const std::vector<Item>& items) {
    return vector_of<T>(items, [this](const Item& item) { return write(item); });
  }
  Offset<flatbuffers::Vector<uint8_t>> byte_vector(const std::string& bytes) {
    return b_.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }

  Offset<fb::SubsegmentOffsets> write(const TestSegments& segments) {
    return fb::CreateSubsegmentOffsets(b_, segments.segment, b_.CreateVector(segments.offsets));
  }

  Offset<fb::Tensor> write(const TestTensor& tensor) {
    Offset<fb::AllocationDetails> allocation = 0;
    if (tensor.memory_id > 0) {
      allocation =
          fb::CreateAllocationDetails(b_, tensor.memory_id, static_cast<uint32_t>(tensor.offset),
                                      static_cast<uint32_t>(tensor.offset >> 32));
    }
    Offset<fb::ExtraTensorInfo> extra = 0;
    if (!tensor.name.empty() || tensor.location != fb::TensorDataLocation::SEGMENT ||
        tensor.mutable_segment != 0 || tensor.device != fb::DeviceType::CPU) {
      extra = fb::CreateExtraTensorInfo(b_, tensor.mutable_segment, b_.CreateString(tensor.name),
                                        tensor.location, tensor.device, 0);
    }
    return fb::CreateTensor(b_, tensor.type, tensor.storage_offset, b_.CreateVector(tensor.sizes),
                            b_.CreateVector(tensor.dim_order), false, tensor.data_buffer_idx,
                            allocation, tensor.layout, tensor.dynamism, extra);
  }

  template <typename T>
  Offset<flatbuffers::Vector<T>> narrow(const std::vector<int64_t>& items) {
    return b_.CreateVector(std::vector<T>(items.begin(), items.end()));
  }

  Offset<void> write_payload(const TestValue& value) {
    switch (value.kind) {
      case Kind::Int:
        return fb::CreateInt(b_, value.number).Union();
      case Kind::Bool:
        return fb::CreateBool(b_, value.number != 0).Union();
      case Kind::Double:
        return fb::CreateDouble(b_, value.real).Union();
      case Kind::Tensor:
        return write(value.tensor).Union();
      case Kind::String:
        return fb::CreateString(b_, b_.CreateString(value.string)).Union();
      case Kind::IntList:
        return fb::CreateIntList(b_, b_.CreateVector(value.list)).Union();
      case Kind::DoubleList:
        return fb::CreateDoubleList(b_, b_.CreateVector(value.reals)).Union();
      case Kind::BoolList:
        return fb::CreateBoolList(b_, narrow<uint8_t>(value.list)).Union();
      case Kind::TensorList:
        return fb::CreateTensorList(b_, narrow<int32_t>(value.list)).Union();
      case Kind::OptionalTensorList:
        return fb::CreateOptionalTensorList(b_, narrow<int32_t>(value.list)).Union();
      default:
        return fb::CreateNull(b_).Union();
    }
  }
  Offset<fb::EValue> write(const TestValue& value) {
    return fb::CreateEValue(b_, value.kind, write_payload(value));
  }

  Offset<void> write_call(const TestInstruction& instruction) {
    switch (instruction.kind) {
      case Call::KernelCall:
        return fb::CreateKernelCall(b_, instruction.first, b_.CreateVector(instruction.arguments))
            .Union();
      case Call::DelegateCall:
        return fb::CreateDelegateCall(b_, instruction.first, b_.CreateVector(instruction.arguments))
            .Union();
      case Call::MoveCall:
        return fb::CreateMoveCall(b_, instruction.first, instruction.second).Union();
      case Call::JumpFalseCall:
        return fb::CreateJumpFalseCall(b_, instruction.first, instruction.second).Union();
      default:
        return fb::CreateFreeCall(b_, instruction.first).Union();
    }
  }
  Offset<fb::Instruction> write(const TestInstruction& instruction) {
    return fb::CreateInstruction(b_, instruction.kind, write_call(instruction));
  }
  Offset<fb::Chain> write(const std::vector<TestInstruction>& chain) {
    return fb::CreateChain(b_, 0, 0, all<fb::Instruction>(chain), 0);
  }

  Offset<fb::BackendDelegate> write(const TestDelegate& delegate) {
    const auto specs = vector_of<fb::CompileSpec>(delegate.compile_specs, [&](const auto& spec) {
      return fb::CreateCompileSpec(b_, b_.CreateString(spec.first), byte_vector(spec.second));
    });
    return fb::CreateBackendDelegate(
        b_, b_.CreateString(delegate.id),
        fb::CreateBackendDelegateDataReference(b_, delegate.location, delegate.index), specs);
  }

  Offset<fb::ExecutionPlan> write(const TestPlan& plan) {
    const auto operators = vector_of<fb::Operator>(plan.operators, [&](const auto& op) {
      return fb::CreateOperator(b_, b_.CreateString(op.first), b_.CreateString(op.second));
    });
    const auto devices = vector_of<fb::NonConstBufferDevice>(plan.devices, [&](const auto& device) {
      return fb::CreateNonConstBufferDevice(b_, device.first, device.second, 0);
    });
    const auto containers =
        fb::CreateContainerMetadata(b_, b_.CreateString("in"), b_.CreateString("out"));
    const auto values = all<fb::EValue>(plan.values);
    const auto inputs = b_.CreateVector(plan.inputs);
    const auto outputs = b_.CreateVector(plan.outputs);
    const auto chains = all<fb::Chain>(plan.chains);
    const auto delegates = all<fb::BackendDelegate>(plan.delegates);
    const auto sizes = b_.CreateVector(plan.buffer_sizes);
    return fb::CreateExecutionPlan(b_, b_.CreateString(plan.name), containers, values, inputs,
                                   outputs, chains, operators, delegates, sizes, devices);
  }

  FlatBufferBuilder& b_;
};

void put(uint8_t* at, uint64_t number, size_t width) { memcpy(at, &number, width); }

size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

// Between identifier and flatbuffer; a multiple of the flatbuffer's largest alignment.
constexpr size_t kHeaderBlock = 48;

}  // namespace

ProgramFile::ProgramFile(const std::string& bytes)
    : memory_(bytes.size() / sizeof(Block) + 1), size_(bytes.size()) {
  memcpy(data(), bytes.data(), bytes.size());
}

ProgramFile::ProgramFile(const TestProgram& program) {
  FlatBufferBuilder builder;
  const auto root = Writer(builder).write(program);
  builder.Finish(root, "ET12");
  const size_t flatbuffer = builder.GetSize();
  if (program.segment_data.empty()) {
    memory_.resize(flatbuffer / sizeof(Block) + 1);
    size_ = flatbuffer;
    memcpy(data(), builder.GetBufferPointer(), flatbuffer);
    return;
  }
  // Root offset and identifier stay in front; the rest moves after the header.
  constexpr size_t kFront = 8;
  const size_t flatbuffer_end = flatbuffer + kHeaderBlock;
  const size_t base = round_up(flatbuffer_end, 16);
  size_ = base + program.segment_data.size();
  memory_.resize(size_ / sizeof(Block) + 1);
  const uint8_t* source = builder.GetBufferPointer();
  memcpy(data(), source, kFront);
  memcpy(data() + kFront + kHeaderBlock, source + kFront, flatbuffer - kFront);
  uint32_t root_offset = 0;
  memcpy(&root_offset, source, sizeof(root_offset));
  put(data(), root_offset + kHeaderBlock, 4);
  memcpy(data() + 8, "eh00", 4);
  put(data() + 12, program.header_length, 4);
  put(data() + 16, flatbuffer_end, 8);
  put(data() + 24, base, 8);
  if (program.header_length >= 32) {
    put(data() + 32, program.segment_data.size(), 8);
  }
  memcpy(data() + base, program.segment_data.data(), program.segment_data.size());
}

TestProgram add_program() {
  TestPlan plan;
  plan.values = {planned(2, 0), planned(2, 16), planned(2, 32)};
  plan.inputs = {0, 1};
  plan.outputs = {2};
  plan.operators = {{"test::add", "out"}};
  plan.chains = {{kernel(0, {0, 1, 2, 2})}};
  TestProgram program;
  program.plans = {plan};
  return program;
}

}  // namespace executorch::testing
