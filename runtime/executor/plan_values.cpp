// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/plan_values.h>

#include <string_view>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/planned_range.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch::runtime::internal {

namespace fb = executorch_flatbuffer;
using Kind = fb::KernelTypes;

size_t value_count(const fb::ExecutionPlan& plan) { return count(plan.values()); }

const fb::EValue& value_at(const fb::ExecutionPlan& plan, size_t index) {
  return *plan.values()->Get(static_cast<uint32_t>(index));
}

const fb::DataSegment& segment_at(const fb::Program& program, size_t index) {
  return *program.segments()->Get(static_cast<uint32_t>(index));
}

const fb::Tensor* tensor_at(const fb::ExecutionPlan& plan, size_t index) {
  return value_at(plan, index).val_as_Tensor();
}

PlannedRange planned_range(const fb::Tensor& tensor) {
  const fb::AllocationDetails* where = tensor.allocation_info();
  if (where == nullptr) {
    return {};
  }
  // The verifier has multiplied them before, with care: the product fits.
  uint64_t bytes = elementSize(static_cast<etensor::ScalarType>(tensor.scalar_type()));
  for (const int32_t size : items(tensor.sizes())) {
    bytes *= static_cast<uint64_t>(size);
  }
  const uint64_t begin = planned_offset(*where);
  return bytes == 0 ? PlannedRange() : PlannedRange{where->memory_id(), begin, begin + bytes};
}

namespace {

// Every kind of list has its items in the same field.
template <typename... Lists>
constexpr bool have_items_in_one_field() {
  return ((int{Lists::VT_ITEMS} == int{fb::TensorList::VT_ITEMS}) && ...);
}
static_assert(
    have_items_in_one_field<fb::IntList, fb::DoubleList, fb::BoolList, fb::OptionalTensorList>());

}  // namespace

const void* table_of(const fb::EValue& value) { return value.val(); }

Span<const int32_t> list_items(const fb::EValue& value) {
  return value.val_type() < Kind::IntList ? Span<const int32_t>()
                                          : items(as<fb::TensorList>(value).items());
}

Span<const int32_t> tensors_in(const fb::EValue& value) {
  return value.val_type() < Kind::TensorList ? Span<const int32_t>() : list_items(value);
}

const fb::Instruction* instruction_at(const fb::ExecutionPlan& plan, size_t index) {
  for (size_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(static_cast<uint32_t>(c))->instructions();
    if (index < count(instructions)) {
      return instructions->Get(static_cast<uint32_t>(index));
    }
    index -= count(instructions);
  }
  return nullptr;
}

bool is_view(const fb::Operator& op) {
  const char* name = text(op.name());
  for (const char character : std::string_view("executorch_prim::et_view")) {
    if (*name++ != character) {
      return false;
    }
  }
  return *name == '\0' || *name == '.';
}

Span<const int32_t> arguments_of(const fb::Instruction& instruction) {
  if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
    return items(call->args());
  }
  const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall();
  return call == nullptr ? Span<const int32_t>() : items(call->args());
}

}  // namespace executorch::runtime::internal
