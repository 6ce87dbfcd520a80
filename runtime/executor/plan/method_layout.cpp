// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/plan/method_layout.h>

#include <new>
#include <type_traits>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plain_tensor.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::arguments_of;
using executorch::runtime::internal::as;
using executorch::runtime::internal::count;
using executorch::runtime::internal::list_size;
using executorch::runtime::internal::PlainTensorReader;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::value_count;
using executorch::runtime::internal::value_in;

namespace {

void count_tensor(const fb::Tensor& tensor, PlainTensorReader* reader, MethodCounts* counts) {
  counts->tensors += 1;
  PlainTensorReader::Fields plain;
  if (reader->read(tensor, &plain)) {
    counts->dims += plain.sizes.size();
    return;
  }
  const size_t rank = count(tensor.sizes());
  counts->dims += rank;
  counts->changing_dims += tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC ? 0 : rank;
  // Inputs among them leave theirs unused.
  counts->growths += tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND ? 1 : 0;
  counts->external += tensor_source(tensor) == TensorSource::External ? 1 : 0;
}

/// How many values of each kind there are, and how many items the lists of each kind have together.
struct KindCounts {
  size_t values[static_cast<size_t>(fb::KernelTypes::MAX) + 1] = {};
  size_t items[static_cast<size_t>(fb::KernelTypes::MAX) + 1] = {};
};

void count_values(const fb::ExecutionPlan& plan, MethodCounts* counts) {
  KindCounts kinds;
  PlainTensorReader reader;
  const auto* const values_in_file = plan.values();
  counts->values = value_count(plan);
  for (size_t i = 0; i < counts->values; ++i) {
    const fb::EValue& value = value_in(values_in_file, plan, i);
    const auto kind = static_cast<size_t>(value.val_type());
    kinds.values[kind] += 1;
    if (value.val_type() == fb::KernelTypes::Tensor) {
      count_tensor(as<fb::Tensor>(value), &reader, counts);
    } else {
      kinds.items[kind] += list_size(value);
    }
  }
  const auto values = [&kinds](fb::KernelTypes kind) {
    return kinds.values[static_cast<size_t>(kind)];
  };
  const auto items = [&kinds](fb::KernelTypes kind) {
    return kinds.items[static_cast<size_t>(kind)];
  };
  counts->strings = values(fb::KernelTypes::String);
  counts->double_lists = values(fb::KernelTypes::DoubleList);
  counts->bool_lists = values(fb::KernelTypes::BoolList);
  counts->int_lists = values(fb::KernelTypes::IntList);
  counts->int_items = items(fb::KernelTypes::IntList);
  counts->tensor_lists = values(fb::KernelTypes::TensorList);
  counts->tensor_items = items(fb::KernelTypes::TensorList);
  counts->optional_lists = values(fb::KernelTypes::OptionalTensorList);
  counts->optional_items = items(fb::KernelTypes::OptionalTensorList);
}

size_t count_arguments(const fb::Instruction& instruction) {
  const fb::InstructionArguments type = instruction.instr_args_type();
  return type == fb::InstructionArguments::MoveCall       ? 2
         : type < fb::InstructionArguments::JumpFalseCall ? arguments_of(instruction).size()
                                                          : 1;
}

}  // namespace

MethodCounts count_method(const fb::ExecutionPlan& plan, size_t plan_words) {
  MethodCounts counts;
  counts.inputs = count(plan.inputs());
  counts.operators = count(plan.operators());
  counts.delegates = count(plan.delegates());
  counts.plan_words = plan_words;
  count_values(plan, &counts);
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

size_t lay_out_method(const MethodCounts& counts, uint8_t* memory, MethodBlock* block) {
  BlockCursor cursor(reinterpret_cast<uintptr_t>(memory), block);
  lay_out(counts, &cursor, block);
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
  construct_all(block.values);
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

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
