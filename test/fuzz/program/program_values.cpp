// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/program_values.h"

#include <string.h>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/planned_range.h>
#include <executorch/runtime/executor/verify/program_header.h>
#include <executorch/runtime/executor/verify/program_structure.h>

namespace executorch::fuzz {
namespace {

namespace fb = executorch_flatbuffer;
using namespace executorch::testing;
using runtime::Span;
using runtime::internal::count;
using runtime::internal::items;
using runtime::internal::text;
using Call = fb::InstructionArguments;
using Kind = fb::KernelTypes;

constexpr char kMark[] = {'R', 'U', 'N', 'S'};
constexpr size_t kTrailer = sizeof(kMark) + sizeof(uint64_t);

template <typename To, typename Items>
std::vector<To> copied(const Items* vector) {
  const auto from = items(vector);
  return std::vector<To>(from.begin(), from.end());
}

template <typename Table, typename Visit>
void for_each(const flatbuffers::Vector<flatbuffers::Offset<Table>>* vector, Visit visit) {
  for (size_t i = 0; i < count(vector); ++i) {
    visit(*vector->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
}

std::string bytes_of(const flatbuffers::Vector<uint8_t>* vector) {
  const auto from = items(vector);
  return std::string(reinterpret_cast<const char*>(from.data()), from.size());
}

TestTensor read(const fb::Tensor& from) {
  TestTensor test_tensor;
  test_tensor.type = from.scalar_type();
  test_tensor.sizes = copied<int32_t>(from.sizes());
  test_tensor.dim_order = copied<uint8_t>(from.dim_order());
  test_tensor.data_buffer_idx = from.data_buffer_idx();
  if (const fb::AllocationDetails* where = from.allocation_info()) {
    test_tensor.memory_id = where->memory_id();
    test_tensor.offset = uint64_t{where->memory_offset_high()} << 32 | where->memory_offset_low();
  }
  test_tensor.dynamism = from.shape_dynamism();
  test_tensor.storage_offset = from.storage_offset();
  test_tensor.layout = from.layout();
  if (const fb::ExtraTensorInfo* extra = from.extra_tensor_info()) {
    test_tensor.name = text(extra->fully_qualified_name());
    test_tensor.location = extra->location();
    test_tensor.mutable_segment = extra->mutable_data_segments_idx();
    test_tensor.device = extra->device_type();
  }
  return test_tensor;
}

TestValue read(const fb::EValue& from) {
  switch (from.val_type()) {
    case Kind::Int:
      return integer(from.val_as_Int()->int_val());
    case Kind::Bool:
      return boolean(from.val_as_Bool()->bool_val());
    case Kind::Double:
      return real(from.val_as_Double()->double_val());
    case Kind::Tensor:
      return tensor(read(*from.val_as_Tensor()));
    case Kind::String:
      return string(text(from.val_as_String()->string_val()));
    case Kind::IntList:
      return list(Kind::IntList, copied<int64_t>(from.val_as_IntList()->items()));
    case Kind::DoubleList: {
      TestValue test_value = list(Kind::DoubleList, {});
      test_value.reals = copied<double>(from.val_as_DoubleList()->items());
      return test_value;
    }
    case Kind::BoolList:
      return list(Kind::BoolList, copied<int64_t>(from.val_as_BoolList()->items()));
    case Kind::TensorList:
      return list(Kind::TensorList, copied<int64_t>(from.val_as_TensorList()->items()));
    case Kind::OptionalTensorList:
      return list(Kind::OptionalTensorList,
                  copied<int64_t>(from.val_as_OptionalTensorList()->items()));
    default:
      return none();
  }
}

TestInstruction read(const fb::Instruction& from) {
  switch (from.instr_args_type()) {
    case Call::KernelCall: {
      const fb::KernelCall& call = *from.instr_args_as_KernelCall();
      return kernel(call.op_index(), copied<int32_t>(call.args()));
    }
    case Call::DelegateCall: {
      const fb::DelegateCall& call = *from.instr_args_as_DelegateCall();
      return delegate(call.delegate_index(), copied<int32_t>(call.args()));
    }
    case Call::MoveCall:
      return move(from.instr_args_as_MoveCall()->move_from(),
                  from.instr_args_as_MoveCall()->move_to());
    case Call::JumpFalseCall:
      return jump_false(from.instr_args_as_JumpFalseCall()->cond_value_index(),
                        from.instr_args_as_JumpFalseCall()->destination_instruction());
    default:
      return free_value(from.instr_args_as_FreeCall()->value_index());
  }
}

TestDelegate read(const fb::BackendDelegate& from) {
  TestDelegate test_delegate{text(from.id()), from.processed()->location(),
                             from.processed()->index()};
  for_each(from.compile_specs(), [&](const fb::CompileSpec& spec) {
    test_delegate.compile_specs.emplace_back(text(spec.key()), bytes_of(spec.value()));
  });
  return test_delegate;
}

TestPlan read(const fb::ExecutionPlan& from) {
  TestPlan test_plan;
  test_plan.name = text(from.name());
  test_plan.inputs = copied<int32_t>(from.inputs());
  test_plan.outputs = copied<int32_t>(from.outputs());
  test_plan.buffer_sizes = copied<int64_t>(from.non_const_buffer_sizes());
  for_each(from.values(),
           [&](const fb::EValue& value) { test_plan.values.push_back(read(value)); });
  for_each(from.operators(), [&](const fb::Operator& op) {
    test_plan.operators.emplace_back(text(op.name()), text(op.overload()));
  });
  for_each(from.chains(), [&](const fb::Chain& chain) {
    auto& instructions = test_plan.chains.emplace_back();
    for_each(chain.instructions(), [&](const fb::Instruction& instruction) {
      instructions.push_back(read(instruction));
    });
  });
  for_each(from.delegates(),
           [&](const fb::BackendDelegate& item) { test_plan.delegates.push_back(read(item)); });
  for_each(from.non_const_buffer_device(), [&](const fb::NonConstBufferDevice& device) {
    test_plan.devices.emplace_back(device.buffer_idx(), device.device_type());
  });
  return test_plan;
}

TestSegments read(const fb::SubsegmentOffsets& from) {
  return {from.segment_index(), copied<uint64_t>(from.offsets())};
}

TestProgram read(const fb::Program& from) {
  TestProgram test_program;
  test_program.version = from.version();
  for_each(from.execution_plan(),
           [&](const fb::ExecutionPlan& plan) { test_program.plans.push_back(read(plan)); });
  for_each(from.constant_buffer(), [&](const fb::Buffer& buffer) {
    test_program.constant_buffer.push_back(bytes_of(buffer.storage()));
  });
  for_each(from.backend_delegate_data(), [&](const fb::BackendDelegateInlineData& data) {
    test_program.inline_data.push_back(bytes_of(data.data()));
  });
  for_each(from.segments(), [&](const fb::DataSegment& segment) {
    test_program.segments.emplace_back(segment.offset(), segment.size());
  });
  if (from.constant_segment() != nullptr) {
    test_program.constants = read(*from.constant_segment());
  }
  for_each(from.mutable_data_segments(), [&](const fb::SubsegmentOffsets& offsets) {
    test_program.mutable_data.push_back(read(offsets));
  });
  for_each(from.named_data(), [&](const fb::NamedData& named) {
    test_program.named_data.emplace_back(text(named.key()), named.segment_index());
  });
  return test_program;
}

}  // namespace

std::optional<TestProgram> read_program(Span<const uint8_t> file) {
  // Flatbuffers are read in place, at addresses that suit their numbers.
  const ProgramFile aligned(std::string(reinterpret_cast<const char*>(file.data()), file.size()));
  const Span<const uint8_t> bytes(aligned.data(), aligned.size());
  const auto header = runtime::internal::parse_program_header(
      {bytes.data(), std::min(bytes.size(), runtime::internal::kProgramHeaderSize)}, bytes.size());
  if (!header.ok() || header->flatbuffer_size > bytes.size() ||
      runtime::internal::verify_program_structure({bytes.data(), header->flatbuffer_size}) !=
          runtime::Error::Ok) {
    return std::nullopt;
  }
  TestProgram test_program = read(*fb::GetProgram(bytes.data()));
  if (header->segment_base != 0 && header->segment_base < bytes.size()) {
    test_program.segment_data.assign(
        reinterpret_cast<const char*>(bytes.data()) + header->segment_base,
        std::min(header->segment_area_size, bytes.size() - header->segment_base));
  }
  return test_program;
}

ProgramInput split_input(Span<const uint8_t> bytes) {
  ProgramInput input{bytes};
  if (bytes.size() >= kTrailer &&
      memcmp(bytes.data() + bytes.size() - kTrailer, kMark, sizeof(kMark)) == 0) {
    input.file = {bytes.data(), bytes.size() - kTrailer};
    memcpy(&input.script, bytes.data() + bytes.size() - sizeof(uint64_t), sizeof(uint64_t));
  }
  return input;
}

std::vector<uint8_t> join_input(const TestProgram& program, uint64_t script) {
  const ProgramFile file(program);
  std::vector<uint8_t> bytes(file.size() + kTrailer);
  memcpy(bytes.data(), file.data(), file.size());
  memcpy(bytes.data() + file.size(), kMark, sizeof(kMark));
  memcpy(bytes.data() + file.size() + sizeof(kMark), &script, sizeof(script));
  return bytes;
}

}  // namespace executorch::fuzz
