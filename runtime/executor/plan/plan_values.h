// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Accessors of a verified method's values. Generated accessors are inlined into every caller;
// these are compiled once, unless code may be large.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

/// The number of values of the method.
ET_INLINE_OR_SHARED size_t value_count(const executorch_flatbuffer::ExecutionPlan& plan) {
  return count(plan.values());
}
/// The method's value `index`, which must exist.
ET_INLINE_OR_SHARED const executorch_flatbuffer::EValue& value_at(
    const executorch_flatbuffer::ExecutionPlan& plan, size_t index) {
  return *plan.values()->Get(static_cast<uint32_t>(index));
}
/// The same in a loop, where `values` are the plan's.
inline const executorch_flatbuffer::EValue& value_in(
    const flatbuffers::Vector<flatbuffers::Offset<executorch_flatbuffer::EValue>>* values,
    const executorch_flatbuffer::ExecutionPlan& plan, size_t index) {
  return ET_SHORTCUTS ? *values->Get(static_cast<uint32_t>(index)) : value_at(plan, index);
}
/// Segment `index` of the program, which must exist.
const executorch_flatbuffer::DataSegment& segment_at(const executorch_flatbuffer::Program& program,
                                                     size_t index);

/// Value `index` if it is a tensor, else null.
ET_INLINE_OR_SHARED const executorch_flatbuffer::Tensor* tensor_at(
    const executorch_flatbuffer::ExecutionPlan& plan, size_t index) {
  return value_at(plan, index).val_as_Tensor();
}

/// The bytes of a verified tensor, and of each of its elements.
struct TensorBytes {
  size_t element;
  size_t all;
};
TensorBytes bytes_of(const executorch_flatbuffer::Tensor& tensor);

/// The table of a value of any kind; `T` is the kind's.
ET_INLINE_OR_SHARED const void* table_of(const executorch_flatbuffer::EValue& value) {
  return value.val();
}
template <typename T>
const T& as(const executorch_flatbuffer::EValue& value) {
  return *static_cast<const T*>(table_of(value));
}

/// The items of a list of any kind, all of which store them in one field; empty for other values.
ET_INLINE_OR_SHARED Span<const int32_t> list_items(const executorch_flatbuffer::EValue& value) {
  return value.val_type() < executorch_flatbuffer::KernelTypes::IntList
             ? Span<const int32_t>()
             : items(as<executorch_flatbuffer::TensorList>(value).items());
}
/// The same for a list whose items are of type T.
template <typename T>
Span<const T> list_items(const executorch_flatbuffer::EValue& value) {
  const Span<const int32_t> items = list_items(value);
  return {reinterpret_cast<const T*>(items.data()), items.size()};
}
inline size_t list_size(const executorch_flatbuffer::EValue& value) {
  return list_items(value).size();
}

/// The items of a list of tensors, -1 for an absent one; empty for all other values.
ET_INLINE_OR_SHARED Span<const int32_t> tensors_in(const executorch_flatbuffer::EValue& value) {
  return value.val_type() < executorch_flatbuffer::KernelTypes::TensorList ? Span<const int32_t>()
                                                                           : list_items(value);
}

/// The method's instruction `index`, counted through its chains; null if it does not exist.
const executorch_flatbuffer::Instruction* instruction_at(
    const executorch_flatbuffer::ExecutionPlan& plan, size_t index);

/// Returns true if the operator makes a tensor a view of another: (self, size, out). The
/// overload may be part of the name: the loader finds the kernel in both cases.
bool is_view(const char* name);
inline bool is_view(const executorch_flatbuffer::Operator& op) { return is_view(text(op.name())); }

/// The table of an instruction of any kind; `T` is the kind's.
template <typename T>
const T& as(const executorch_flatbuffer::Instruction& instruction) {
  return *static_cast<const T*>(instruction.instr_args());
}

/// The arguments of a call of a kernel or delegate; empty for all other instructions.
ET_INLINE_OR_SHARED Span<const int32_t> arguments_of(
    const executorch_flatbuffer::Instruction& instruction) {
  using executorch_flatbuffer::DelegateCall;
  using executorch_flatbuffer::InstructionArguments;
  using executorch_flatbuffer::KernelCall;
  static_assert(int{KernelCall::VT_ARGS} == int{DelegateCall::VT_ARGS},
                "both kinds of calls have their arguments in the same field");
  const InstructionArguments type = instruction.instr_args_type();
  return type != InstructionArguments::KernelCall && type != InstructionArguments::DelegateCall
             ? Span<const int32_t>()
             : items(as<KernelCall>(instruction).args());
}

}  // namespace executorch::runtime::internal
