// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/method_layout.h>

#include <new>
#include <type_traits>

#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/plan_values.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::arguments_of;
using executorch::runtime::internal::as;
using executorch::runtime::internal::count;
using executorch::runtime::internal::list_size;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;

namespace {

void count_tensor(const fb::Tensor& tensor, MethodCounts* counts) {
  const size_t rank = count(tensor.sizes());
  counts->tensors += 1;
  counts->dims += rank;
  counts->changing_dims += tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC ? 0 : rank;
  // Some may be inputs, and do without.
  counts->growths += tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND ? 1 : 0;
  counts->external += tensor_source(tensor) == TensorSource::External ? 1 : 0;
}

void count_value(const fb::EValue& value, MethodCounts* counts) {
  switch (value.val_type()) {
    case fb::KernelTypes::Tensor:
      count_tensor(as<fb::Tensor>(value), counts);
      break;
    case fb::KernelTypes::String:
      counts->strings += 1;
      break;
    case fb::KernelTypes::DoubleList:
      counts->double_lists += 1;
      break;
    case fb::KernelTypes::BoolList:
      counts->bool_lists += 1;
      break;
    case fb::KernelTypes::IntList:
      counts->int_lists += 1;
      counts->int_items += list_size(value);
      break;
    case fb::KernelTypes::TensorList:
      counts->tensor_lists += 1;
      counts->tensor_items += list_size(value);
      break;
    case fb::KernelTypes::OptionalTensorList:
      counts->optional_lists += 1;
      counts->optional_items += list_size(value);
      break;
    default:
      break;
  }
}

size_t count_arguments(const fb::Instruction& instruction) {
  const fb::InstructionArguments type = instruction.instr_args_type();
  return type == fb::InstructionArguments::MoveCall       ? 2
         : type < fb::InstructionArguments::JumpFalseCall ? arguments_of(instruction).size()
                                                          : 1;
}

MethodCounts count_plan(const fb::ExecutionPlan& plan, size_t plan_words) {
  MethodCounts counts;
  counts.values = count(plan.values());
  counts.inputs = count(plan.inputs());
  counts.operators = count(plan.operators());
  counts.delegates = count(plan.delegates());
  counts.plan_words = plan_words;
  for (size_t i = 0; i < count(plan.values()); ++i) {
    count_value(*plan.values()->Get(i), &counts);
  }
  for (size_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    counts.instructions += count(instructions);
    for (size_t i = 0; i < count(instructions); ++i) {
      counts.arguments += count_arguments(*instructions->Get(i));
    }
  }
  for (size_t i = 0; i < count(plan.delegates()); ++i) {
    counts.compile_specs += count(plan.delegates()->Get(i)->compile_specs());
  }
  return counts;
}

}  // namespace

size_t method_block_size(const fb::ExecutionPlan& plan, size_t plan_words) {
  // The walk of lay_out_method(), so that it is compiled once. The arrays' addresses are not used.
  BlockCursor cursor(kMethodBlockAlignment);
  MethodBlock unused;
  lay_out(count_plan(plan, plan_words), &cursor, &unused);
  return cursor.size();
}

namespace {

template <typename T>
void construct_all(Span<T> items) {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (T& item : items) {
      new (&item) T();
    }
  }
}

template <typename T>
void destroy_all(Span<T> items) {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (T& item : items) {
      item.~T();
    }
  }
}

}  // namespace

void construct_references(const MethodBlock& block) {
  for (TensorGrowth& growth : block.growths) {
    (new (&growth) TensorGrowth)->tensor = nullptr;
  }
  for (EValue& value : block.values) {
    new (&value) EValue();
  }
  construct_all(block.tensors);
  construct_all(block.tensor_items);
  construct_all(block.optional_items);
}

void destroy_references(const MethodBlock& block) {
  release_growing(block);
  destroy_all(block.values);
  destroy_all(block.tensors);
  destroy_all(block.tensor_items);
  destroy_all(block.optional_items);
  destroy_all(block.growths);
}

void release_growing(const MethodBlock& block) {
  for (TensorGrowth& growth : block.growths) {
    if (growth.tensor != nullptr) {
      growth.release(growth);
    }
  }
}

void lay_out_method(const fb::ExecutionPlan& plan, size_t plan_words, uint8_t* memory,
                    MethodBlock* block) {
  BlockCursor cursor(reinterpret_cast<uintptr_t>(memory));
  lay_out(count_plan(plan, plan_words), &cursor, block);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
