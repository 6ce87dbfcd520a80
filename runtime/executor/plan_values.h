// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How the values of a verified method are read, once for all who do: the generated accessors are
// compiled wherever they are called.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/span.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

/// How many values the method has.
size_t value_count(const executorch_flatbuffer::ExecutionPlan& plan);
/// The method's value `index`, which must exist.
const executorch_flatbuffer::EValue& value_at(const executorch_flatbuffer::ExecutionPlan& plan,
                                              size_t index);
/// A segment of the program, which has as many.
const executorch_flatbuffer::DataSegment& segment_at(const executorch_flatbuffer::Program& program,
                                                     size_t index);

/// Value `index` if it is a tensor, else null.
const executorch_flatbuffer::Tensor* tensor_at(const executorch_flatbuffer::ExecutionPlan& plan,
                                               size_t index);

/// The table of a value of any kind; `T` is the kind's.
const void* table_of(const executorch_flatbuffer::EValue& value);
template <typename T>
const T& as(const executorch_flatbuffer::EValue& value) {
  return *static_cast<const T*>(table_of(value));
}

/// The items of a list of any kind; empty for all other values.
Span<const int32_t> list_items(const executorch_flatbuffer::EValue& value);
/// The same for items of another type than int32_t, which is the list's.
template <typename T>
Span<const T> list_items(const executorch_flatbuffer::EValue& value) {
  const Span<const int32_t> items = list_items(value);
  return {reinterpret_cast<const T*>(items.data()), items.size()};
}
inline size_t list_size(const executorch_flatbuffer::EValue& value) {
  return list_items(value).size();
}

/// The items of a list of tensors, of which some may be -1; empty for all other values.
Span<const int32_t> tensors_in(const executorch_flatbuffer::EValue& value);

/// The method's instruction `index`, counted through its chains; null if there are not as many.
const executorch_flatbuffer::Instruction* instruction_at(
    const executorch_flatbuffer::ExecutionPlan& plan, size_t index);

/// Whether the operator makes a tensor a view of another: (self, size, out). The overload may be
/// part of the name: the loader finds the kernel in both cases.
bool is_view(const executorch_flatbuffer::Operator& op);

/// The arguments of a call of a kernel or delegate; empty for all other instructions.
Span<const int32_t> arguments_of(const executorch_flatbuffer::Instruction& instruction);

}  // namespace executorch::runtime::internal
