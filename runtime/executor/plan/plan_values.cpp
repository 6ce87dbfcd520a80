// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/plan/plan_values.h>

#include <string_view>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/executor/plan/planned_range.h>
#include <executorch/runtime/executor/plan/tensor_source.h>

namespace executorch::runtime::internal {

namespace fb = executorch_flatbuffer;

const fb::DataSegment& segment_at(const fb::Program& program, size_t index) {
  return *program.segments()->Get(static_cast<uint32_t>(index));
}

TensorBytes bytes_of(const fb::Tensor& tensor) {
  const size_t element = elementSize(static_cast<etensor::ScalarType>(tensor.scalar_type()));
  // The verifier has checked that the product fits.
  size_t bytes = element;
  for (const int32_t size : items(tensor.sizes())) {
    bytes *= static_cast<size_t>(size);
  }
  return {element, bytes};
}

PlannedRange planned_range(const fb::Tensor& tensor) {
  const fb::AllocationDetails* where = tensor.allocation_info();
  if (where == nullptr) {
    return {};
  }
  const uint64_t bytes = bytes_of(tensor).all;
  const uint64_t begin = planned_offset(*where);
  return bytes == 0 ? PlannedRange() : PlannedRange{where->memory_id(), begin, begin + bytes};
}

namespace {

/// Every kind of list has its items in the same field.
template <typename... Lists>
constexpr bool have_items_in_one_field() {
  return ((int{Lists::VT_ITEMS} == int{fb::TensorList::VT_ITEMS}) && ...);
}
static_assert(
    have_items_in_one_field<fb::IntList, fb::DoubleList, fb::BoolList, fb::OptionalTensorList>());

}  // namespace

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

bool is_view(const char* name) {
  for (const char character : std::string_view("executorch_prim::et_view")) {
    if (*name++ != character) {
      return false;
    }
  }
  return *name == '\0' || *name == '.';
}

}  // namespace executorch::runtime::internal
