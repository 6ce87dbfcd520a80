// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// All that a loaded method consists of, in one block of memory. The same walk over the program that
// says how large the block is lays it out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/portable_type/tensor_growth.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
struct Tensor;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// What a backend made of its part of the program.
struct Delegate {
  const BackendInterface* backend;
  DelegateHandle* handle;
  FreeableBuffer processed;
  Span<CompileSpec> compile_specs;
};

enum class Opcode : uint8_t {
  /// kernel(arguments)
  Kernel,
  /// delegate->execute(arguments)
  Delegate,
  /// *arguments[1] = *arguments[0]
  Move,
  /// Go on at `number` if *arguments[0] is false.
  JumpFalse,
  /// Gives back the memory of tensor *arguments[0], if that grows; planned memory needs no freeing.
  Free,
};

struct Instruction {
  union {
    OpFunction kernel;
    Delegate* delegate;
  };
  EValue** arguments;
  /// The number of arguments, or where to jump to.
  uint32_t number;
  Opcode opcode;
  /// Some tensor among the arguments is given its memory at run time: look whether it was.
  bool has_late_memory;
};

/// An input of the method.
struct Input {
  EValue* value;
  /// What the program says of it; null if it is no tensor.
  const executorch_flatbuffer::Tensor* tensor;
  /// The tensor itself, wherever a MoveCall has pointed the value to.
  executorch::aten::TensorImpl* impl;
  bool is_set;
  /// Executing destroys it: the plan uses its memory for other values too.
  bool is_consumed;
};

/// The arrays of a method. Elements are not constructed by laying the block out.
struct MethodBlock {
  Span<EValue> values;
  Span<Instruction> instructions;
  Span<Input> inputs;
  Span<Delegate> delegates;
  /// Data from outside of the program.
  Span<FreeableBuffer> external;
  Span<TensorSlot> tensors;
  Span<CompileSpec> compile_specs;
  /// The kernel of each operator, while loading.
  Span<const Kernel*> kernels;

  // Lists, and their items: as pointers to values, and room for them to be read into.
  Span<executorch::aten::ArrayRef<char>> strings;
  Span<executorch::aten::ArrayRef<double>> double_lists;
  Span<executorch::aten::ArrayRef<bool>> bool_lists;
  Span<BoxedEvalueList<int64_t>> int_lists;
  Span<BoxedEvalueList<executorch::aten::Tensor>> tensor_lists;
  Span<BoxedEvalueList<std::optional<executorch::aten::Tensor>>> optional_lists;
  Span<int64_t> int_items;
  Span<executorch::aten::Tensor> tensor_items;
  Span<std::optional<executorch::aten::Tensor>> optional_items;
  /// Of all lists, then of all instructions.
  Span<EValue*> pointers;

  /// Sizes of tensors that may change theirs.
  Span<executorch::aten::SizesType> sizes;
  Span<executorch::aten::StridesType> strides;
  /// Of tensors without bound, which have theirs here.
  Span<executorch::runtime::internal::TensorGrowth> growths;
  /// Of each value: see constant_values.h.
  Span<bool> is_constant;
  /// The method's parametric plan as the program has it, and room for the results of its steps.
  Span<uint32_t> plan_words;
  Span<int64_t> plan_values;
};

constexpr size_t kMethodBlockAlignment = 8;

/// Bytes of the block; SIZE_MAX if they do not fit size_t. `plan_words`: how long the method's
/// parametric plan is (see parametric_plan.h).
size_t method_block_size(const executorch_flatbuffer::ExecutionPlan& plan, size_t plan_words);

/// Points `block`'s arrays into `memory`, which has method_block_size() bytes, aligned to
/// kMethodBlockAlignment.
void lay_out_method(const executorch_flatbuffer::ExecutionPlan& plan, size_t plan_words,
                    uint8_t* memory, MethodBlock* block);

/// Constructs, and destroys, what must be before and after it is assigned to: values always, and
/// whatever holds counted references (in ATen mode).
void construct_references(const MethodBlock& block);
void destroy_references(const MethodBlock& block);

/// Gives back the memory of tensors without bound.
void release_growing(const MethodBlock& block);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
