// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "scalar_slots.h"

#include <initializer_list>

#include <executorch/schema/program_generated.h>

namespace executorch::fuzz {
namespace {

namespace fb = executorch_flatbuffer;

class Finder final {
 public:
  explicit Finder(const uint8_t* base) : base_(base) {}

  std::vector<Slot> find() {
    const fb::Program& program = *fb::GetProgram(base_);
    fields(program, {{fb::Program::VT_VERSION, 4}});
    for_each(program.execution_plan(), [&](const fb::ExecutionPlan& plan) { visit(plan); });
    for_each(program.segments(), [&](const fb::DataSegment& segment) {
      fields(segment, {{fb::DataSegment::VT_OFFSET, 8}, {fb::DataSegment::VT_SIZE, 8}});
    });
    if (program.constant_segment() != nullptr) {
      visit(*program.constant_segment());
    }
    for_each(program.mutable_data_segments(),
             [&](const fb::SubsegmentOffsets& offsets) { visit(offsets); });
    for_each(program.named_data(), [&](const fb::NamedData& named) {
      fields(named, {{fb::NamedData::VT_SEGMENT_INDEX, 4}});
    });
    return std::move(slots_);
  }

 private:
  struct Field {
    flatbuffers::voffset_t slot;
    size_t width;
  };

  template <typename T>
  void fields(const T& table, std::initializer_list<Field> fields) {
    for (const Field& field : fields) {
      const uint8_t* address =
          reinterpret_cast<const flatbuffers::Table*>(&table)->GetAddressOf(field.slot);
      if (address != nullptr) {
        slots_.push_back({static_cast<size_t>(address - base_), field.width});
      }
    }
  }

  template <typename T>
  void numbers(const flatbuffers::Vector<T>* vector) {
    for (size_t i = 0; vector != nullptr && i < vector->size(); ++i) {
      slots_.push_back({static_cast<size_t>(vector->Data() - base_) + i * sizeof(T), sizeof(T)});
    }
  }

  template <typename T, typename Visit>
  void for_each(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector, Visit visit) {
    for (size_t i = 0; vector != nullptr && i < vector->size(); ++i) {
      visit(*vector->Get(static_cast<flatbuffers::uoffset_t>(i)));
    }
  }

  void visit(const fb::SubsegmentOffsets& offsets) {
    fields(offsets, {{fb::SubsegmentOffsets::VT_SEGMENT_INDEX, 4}});
    numbers(offsets.offsets());
  }

  void visit(const fb::ExecutionPlan& plan) {
    numbers(plan.inputs());
    numbers(plan.outputs());
    numbers(plan.non_const_buffer_sizes());
    for_each(plan.values(), [&](const fb::EValue& value) { visit(value); });
    for_each(plan.chains(), [&](const fb::Chain& chain) {
      for_each(chain.instructions(),
               [&](const fb::Instruction& instruction) { visit(instruction); });
    });
    for_each(plan.delegates(), [&](const fb::BackendDelegate& delegate) {
      fields(*delegate.processed(), {{fb::BackendDelegateDataReference::VT_LOCATION, 1},
                                     {fb::BackendDelegateDataReference::VT_INDEX, 4}});
    });
  }

  void visit(const fb::EValue& value) {
    fields(value, {{fb::EValue::VT_VAL_TYPE, 1}});
    if (const auto* number = value.val_as_Int()) {
      fields(*number, {{fb::Int::VT_INT_VAL, 8}});
    } else if (const auto* list = value.val_as_IntList()) {
      numbers(list->items());
    } else if (const auto* list = value.val_as_BoolList()) {
      numbers(list->items());
    } else if (const auto* list = value.val_as_TensorList()) {
      numbers(list->items());
    } else if (const auto* list = value.val_as_OptionalTensorList()) {
      numbers(list->items());
    } else if (const auto* tensor = value.val_as_Tensor()) {
      visit(*tensor);
    }
  }

  void visit(const fb::Tensor& tensor) {
    fields(tensor, {{fb::Tensor::VT_SCALAR_TYPE, 1},
                    {fb::Tensor::VT_STORAGE_OFFSET, 4},
                    {fb::Tensor::VT_DATA_BUFFER_IDX, 4},
                    {fb::Tensor::VT_LAYOUT, 1},
                    {fb::Tensor::VT_SHAPE_DYNAMISM, 1}});
    numbers(tensor.sizes());
    numbers(tensor.dim_order());
    if (tensor.allocation_info() != nullptr) {
      fields(*tensor.allocation_info(), {{fb::AllocationDetails::VT_MEMORY_ID, 4},
                                         {fb::AllocationDetails::VT_MEMORY_OFFSET_LOW, 4},
                                         {fb::AllocationDetails::VT_MEMORY_OFFSET_HIGH, 4}});
    }
    if (tensor.extra_tensor_info() != nullptr) {
      fields(*tensor.extra_tensor_info(), {{fb::ExtraTensorInfo::VT_MUTABLE_DATA_SEGMENTS_IDX, 8},
                                           {fb::ExtraTensorInfo::VT_LOCATION, 1},
                                           {fb::ExtraTensorInfo::VT_DEVICE_TYPE, 1}});
    }
  }

  void visit(const fb::Instruction& instruction) {
    fields(instruction, {{fb::Instruction::VT_INSTR_ARGS_TYPE, 1}});
    if (const auto* call = instruction.instr_args_as_KernelCall()) {
      fields(*call, {{fb::KernelCall::VT_OP_INDEX, 4}});
      numbers(call->args());
    } else if (const auto* call = instruction.instr_args_as_DelegateCall()) {
      fields(*call, {{fb::DelegateCall::VT_DELEGATE_INDEX, 4}});
      numbers(call->args());
    } else if (const auto* call = instruction.instr_args_as_MoveCall()) {
      fields(*call, {{fb::MoveCall::VT_MOVE_FROM, 4}, {fb::MoveCall::VT_MOVE_TO, 4}});
    } else if (const auto* call = instruction.instr_args_as_JumpFalseCall()) {
      fields(*call, {{fb::JumpFalseCall::VT_COND_VALUE_INDEX, 4},
                     {fb::JumpFalseCall::VT_DESTINATION_INSTRUCTION, 4}});
    } else if (const auto* call = instruction.instr_args_as_FreeCall()) {
      fields(*call, {{fb::FreeCall::VT_VALUE_INDEX, 4}});
    }
  }

  const uint8_t* base_;
  std::vector<Slot> slots_;
};

}  // namespace

std::vector<Slot> find_scalar_slots(runtime::Span<const uint8_t> program) {
  return Finder(program.data()).find();
}

}  // namespace executorch::fuzz
