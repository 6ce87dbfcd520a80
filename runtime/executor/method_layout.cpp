// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/method_layout.h>

#include <new>
#include <type_traits>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorGrowth;
using executorch::runtime::internal::TensorSource;

namespace {

/// How many there are of everything whose number is not a vector's length in the file.
struct Counts {
  size_t tensors = 0;
  size_t external = 0;
  size_t dims = 0;
  size_t changing_dims = 0;
  size_t growths = 0;
  size_t strings = 0;
  size_t double_lists = 0;
  size_t bool_lists = 0;
  size_t int_lists = 0;
  size_t tensor_lists = 0;
  size_t optional_lists = 0;
  size_t int_items = 0;
  size_t tensor_items = 0;
  size_t optional_items = 0;
  size_t instructions = 0;
  size_t arguments = 0;
  size_t compile_specs = 0;
};

void count_tensor(const fb::Tensor& tensor, Counts* counts) {
  const size_t rank = count(tensor.sizes());
  counts->tensors += 1;
  counts->dims += rank;
  counts->changing_dims += tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC ? 0 : rank;
  // Some may be inputs, and do without.
  counts->growths += tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND ? 1 : 0;
  counts->external += tensor_source(tensor) == TensorSource::External ? 1 : 0;
}

void count_value(const fb::EValue& value, Counts* counts) {
  switch (value.val_type()) {
    case fb::KernelTypes::Tensor:
      count_tensor(*value.val_as_Tensor(), counts);
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
      counts->int_items += count(value.val_as_IntList()->items());
      break;
    case fb::KernelTypes::TensorList:
      counts->tensor_lists += 1;
      counts->tensor_items += count(value.val_as_TensorList()->items());
      break;
    case fb::KernelTypes::OptionalTensorList:
      counts->optional_lists += 1;
      counts->optional_items += count(value.val_as_OptionalTensorList()->items());
      break;
    default:
      break;
  }
}

size_t count_arguments(const fb::Instruction& instruction) {
  switch (instruction.instr_args_type()) {
    case fb::InstructionArguments::KernelCall:
      return count(instruction.instr_args_as_KernelCall()->args());
    case fb::InstructionArguments::DelegateCall:
      return count(instruction.instr_args_as_DelegateCall()->args());
    case fb::InstructionArguments::MoveCall:
      return 2;
    case fb::InstructionArguments::JumpFalseCall:
    case fb::InstructionArguments::FreeCall:
      return 1;
    default:
      return 0;
  }
}

Counts count_plan(const fb::ExecutionPlan& plan) {
  Counts counts;
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

/// Takes arrays from the block, one after the other; without memory, counts their bytes.
class Cursor final {
 public:
  explicit Cursor(uint8_t* memory) : memory_(memory) {}

  template <typename T>
  void take(size_t count, Span<T>* array) {
    static_assert(alignof(T) <= kMethodBlockAlignment, "the block's alignment is not enough");
    *array = Span<T>(static_cast<T*>(take(count, sizeof(T), alignof(T))),
                     memory_ != nullptr ? count : 0);
  }

  size_t size() const { return overflow_ ? SIZE_MAX : used_; }

 private:
  ET_NOINLINE void* take(size_t count, size_t size, size_t alignment) {
    size_t bytes = 0;
    overflow_ |= executorch::runtime::mul_overflows(count, size, &bytes);
    // Padding is needed where an array of wider elements follows one of narrower.
    overflow_ |= executorch::runtime::add_overflows(used_, alignment - 1, &used_);
    used_ &= ~(alignment - 1);
    void* taken = memory_ == nullptr ? nullptr : memory_ + used_;
    overflow_ |= executorch::runtime::add_overflows(used_, bytes, &used_);
    return taken;
  }

  uint8_t* memory_;
  size_t used_ = 0;
  bool overflow_ = false;
};

size_t lay_out(const fb::ExecutionPlan& plan, size_t plan_words, uint8_t* memory,
               MethodBlock* block) {
  const Counts counts = count_plan(plan);
  Cursor cursor(memory);
  cursor.take(count(plan.values()), &block->values);
  cursor.take(counts.instructions, &block->instructions);
  cursor.take(count(plan.inputs()), &block->inputs);
  cursor.take(count(plan.delegates()), &block->delegates);
  cursor.take(counts.external, &block->external);
  cursor.take(counts.tensors, &block->tensors);
  cursor.take(counts.compile_specs, &block->compile_specs);
  cursor.take(count(plan.operators()), &block->kernels);
  cursor.take(counts.strings, &block->strings);
  cursor.take(counts.double_lists, &block->double_lists);
  cursor.take(counts.bool_lists, &block->bool_lists);
  cursor.take(counts.int_lists, &block->int_lists);
  cursor.take(counts.tensor_lists, &block->tensor_lists);
  cursor.take(counts.optional_lists, &block->optional_lists);
  cursor.take(counts.int_items, &block->int_items);
  cursor.take(counts.tensor_items, &block->tensor_items);
  cursor.take(counts.optional_items, &block->optional_items);
  cursor.take(counts.int_items + counts.tensor_items + counts.optional_items + counts.arguments,
              &block->pointers);
  cursor.take(counts.growths, &block->growths);
  cursor.take(counts.changing_dims, &block->sizes);
  cursor.take(counts.dims, &block->strides);
  cursor.take(count(plan.values()), &block->is_constant);
  cursor.take(plan_words, &block->plan_words);
  // A step takes three words.
  cursor.take(plan_words / 3, &block->plan_values);
  return cursor.size();
}

}  // namespace

size_t method_block_size(const fb::ExecutionPlan& plan, size_t plan_words) {
  MethodBlock unused;
  return lay_out(plan, plan_words, nullptr, &unused);
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
    growth.tensor = nullptr;
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
  lay_out(plan, plan_words, memory, block);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
