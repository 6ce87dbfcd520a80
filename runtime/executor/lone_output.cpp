// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/lone_output.h>

#include <algorithm>

#include <executorch/runtime/executor/operator_text.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/plan_values.h>
#include <executorch/runtime/executor/planned_range.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::items;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::tensors_in;
using executorch::runtime::internal::TensorSource;

namespace {

template <typename Items>
bool has(const Items& numbers, int32_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

/// Whether a list of tensors has the value among them.
bool is_listed(const fb::ExecutionPlan& plan, int32_t value) {
  for (uint32_t i = 0; i < count(plan.values()); ++i) {
    if (has(tensors_in(*plan.values()->Get(i)), value)) {
      return true;
    }
  }
  return false;
}

/// How often an instruction has the value as its last argument; 2 where it is anything else to it.
size_t results(const fb::ExecutionPlan& plan, const fb::Instruction& instruction, int32_t value) {
  const flatbuffers::Vector<int32_t>* arguments = nullptr;
  if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
    arguments = call->args();
    const fb::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(call->op_index()));
    if (is_view(op)) {
      return has(items(arguments), value) ? 2 : 0;
    }
  } else if (const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall()) {
    arguments = call->args();
  } else {
    // Jumps, moves and what frees memory: programs with these are left as they are.
    return 2;
  }
  const auto values = items(arguments);
  if (!has(values, value)) {
    return 0;
  }
  // A kernel's result is named twice: as what it writes, and as what it returns.
  const size_t named = static_cast<size_t>(std::count(values.begin(), values.end(), value));
  size_t last = 0;
  while (last < values.size() && values[values.size() - 1 - last] == value) {
    ++last;
  }
  return named == last ? 1 : 2;
}

/// Whether an instruction does no more with the value than to hand it to a delegate.
bool only_delegates_read(const fb::Instruction& instruction, int32_t value) {
  if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
    return !has(items(call->args()), value);
  }
  const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall();
  if (call == nullptr) {
    // As above: jumps, moves and what frees memory.
    return false;
  }
  const auto values = items(call->args());
  return !has(values, value) || values[values.size() - 1] != value;
}

/// Whether no other tensor has a part of the value's planned memory.
bool is_alone(const fb::ExecutionPlan& plan, int32_t value) {
  const PlannedRange range = planned_range(*tensor_at(plan, static_cast<size_t>(value)));
  for (uint32_t i = 0; i < count(plan.values()); ++i) {
    const fb::Tensor* other = tensor_at(plan, i);
    if (other != nullptr && i != static_cast<uint32_t>(value) &&
        range.overlaps(planned_range(*other))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_lone_output(const fb::ExecutionPlan& plan, size_t index) {
  const int32_t value = items(plan.outputs())[index];
  const fb::Tensor* tensor = tensor_at(plan, static_cast<size_t>(value));
  if (tensor == nullptr || tensor_source(*tensor) != TensorSource::Planned ||
      has(items(plan.inputs()), value) || is_listed(plan, value)) {
    return false;
  }
  size_t uses = 0;
  for (uint32_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < count(instructions) && uses < 2; ++i) {
      uses += results(plan, *instructions->Get(i), value);
    }
  }
  const auto outputs = items(plan.outputs());
  return uses == 1 && std::count(outputs.begin(), outputs.end(), value) == 1 &&
         is_alone(plan, value);
}

bool is_lone_input(const fb::ExecutionPlan& plan, size_t index) {
  const auto inputs = items(plan.inputs());
  const int32_t value = inputs[index];
  const fb::Tensor* tensor = tensor_at(plan, static_cast<size_t>(value));
  if (tensor == nullptr || tensor_source(*tensor) != TensorSource::Planned ||
      tensor->shape_dynamism() != fb::TensorShapeDynamism::STATIC ||
      has(items(plan.outputs()), value) || is_listed(plan, value) ||
      std::count(inputs.begin(), inputs.end(), value) != 1) {
    return false;
  }
  for (uint32_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < count(instructions); ++i) {
      if (!only_delegates_read(*instructions->Get(i), value)) {
        return false;
      }
    }
  }
  return is_alone(plan, value);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
