// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/lone_output.h>

#include <stdint.h>

#include <algorithm>

#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/plan_values.h>
#include <executorch/runtime/executor/planned_range.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::arguments_of;
using executorch::runtime::internal::count;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::items;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::tensors_in;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::value_at;
using executorch::runtime::internal::value_count;

namespace {

size_t count_of(Span<const int32_t> numbers, int32_t number) {
  return static_cast<size_t>(std::count(numbers.begin(), numbers.end(), number));
}

/// Whether a list of tensors has the value among them.
bool is_listed(const fb::ExecutionPlan& plan, int32_t value) {
  for (uint32_t i = 0; i < value_count(plan); ++i) {
    if (count_of(tensors_in(value_at(plan, i)), value) > 0) {
      return true;
    }
  }
  return false;
}

/// The use that an instruction makes of a value.
enum class Use : uint8_t {
  None,
  /// The last argument and no other: the instruction's result.
  Result,
  /// A delegate's argument other than the last.
  Delegate,
  Other,
};

Use use_of(const fb::ExecutionPlan& plan, const fb::Instruction& instruction, int32_t value) {
  const fb::KernelCall* const call = instruction.instr_args_as_KernelCall();
  if (call == nullptr && instruction.instr_args_as_DelegateCall() == nullptr) {
    // Jumps, moves and what frees memory: programs with these are left as they are.
    return Use::Other;
  }
  const auto values = arguments_of(instruction);
  const size_t named = count_of(values, value);
  if (named == 0) {
    return Use::None;
  }
  // A kernel's result is named twice: as what it writes, and as what it returns.
  size_t last = 0;
  while (last < named && values[values.size() - 1 - last] == value) {
    ++last;
  }
  if (call == nullptr && last == 0) {
    return Use::Delegate;
  }
  const bool makes_view =
      call != nullptr && is_view(*plan.operators()->Get(static_cast<uint32_t>(call->op_index())));
  return named == last && !makes_view ? Use::Result : Use::Other;
}

/// Whether no other tensor has a part of the value's planned memory.
bool is_alone(const fb::ExecutionPlan& plan, int32_t value) {
  const PlannedRange range = planned_range(*tensor_at(plan, static_cast<size_t>(value)));
  for (uint32_t i = 0; i < value_count(plan); ++i) {
    const fb::Tensor* other = tensor_at(plan, i);
    if (other != nullptr && i != static_cast<uint32_t>(value) &&
        range.overlaps(planned_range(*other))) {
      return false;
    }
  }
  return true;
}

/// Whether `own` has the value once, `other` does not have it, it is alone in its planned memory,
/// and every instruction that has to do with it makes `wanted` use of it; a result is one of a
/// single instruction.
bool is_lone(const fb::ExecutionPlan& plan, int32_t value, Span<const int32_t> own,
             Span<const int32_t> other, Use wanted) {
  const fb::Tensor* tensor = tensor_at(plan, static_cast<size_t>(value));
  if (tensor == nullptr || tensor_source(*tensor) != TensorSource::Planned ||
      count_of(other, value) > 0 || count_of(own, value) != 1 || is_listed(plan, value)) {
    return false;
  }
  size_t uses = 0;
  for (uint32_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < count(instructions); ++i) {
      const Use use = use_of(plan, *instructions->Get(i), value);
      if (use != Use::None && use != wanted) {
        return false;
      }
      uses += use == Use::None ? 0 : 1;
    }
  }
  return (wanted != Use::Result || uses == 1) && is_alone(plan, value);
}

}  // namespace

bool is_lone_output(const fb::ExecutionPlan& plan, size_t index) {
  const auto outputs = items(plan.outputs());
  return is_lone(plan, outputs[index], outputs, items(plan.inputs()), Use::Result);
}

bool is_lone_input(const fb::ExecutionPlan& plan, size_t index) {
  const auto inputs = items(plan.inputs());
  const fb::Tensor* tensor = tensor_at(plan, static_cast<size_t>(inputs[index]));
  return tensor != nullptr && tensor->shape_dynamism() == fb::TensorShapeDynamism::STATIC &&
         is_lone(plan, inputs[index], inputs, items(plan.outputs()), Use::Delegate);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
