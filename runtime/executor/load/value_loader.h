// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Makes EValues, tensors and lists from the values of a verified method.
#pragma once

#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Resets every value to the program's: its number, its tensor, its list. Execution changes values
/// (loop counters, moved tensors); this restores them.
void point_values(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);
/// The same where block.values is memory without values.
void make_values(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);

/// Makes tensors and lists. All arguments must outlive it.
class ValueLoader final {
 public:
  /// `memory` may lack planned memory and a dynamic allocator. Counts in `external_made`
  /// how many of block.external it has made.
  ValueLoader(const Program& program, const executorch_flatbuffer::ExecutionPlan& plan,
              const MemoryManager& memory, const NamedDataMap& data, MethodBlock* block,
              size_t* external_made)
      : program_(program),
        plan_(plan),
        planned_memory_(memory.planned_memory()),
        dynamic_allocator_(memory.dynamic_allocator()),
        data_(data),
        block_(*block),
        external_made_(*external_made) {}

  Error load();

  // Load one tensor, with or without a bound on its sizes.
  Error load_bounded(const executorch_flatbuffer::Tensor& tensor);
  Error load_unbounded(const executorch_flatbuffer::Tensor& tensor);

 private:
  Error load_tensor(const executorch_flatbuffer::Tensor& tensor);
  /// Makes an unbounded tensor, which has no memory yet: one of `sizes` is 0.
  Error make_unbounded(const executorch_flatbuffer::Tensor& tensor, Span<const int32_t> sizes);
  Error make_tensor(const executorch_flatbuffer::Tensor& tensor, void* data, size_t nbytes,
                    TensorSlot* slot);
  /// The address of a tensor's data; null if it is given at run time.
  Result<void*> bind(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Result<void*> bind_planned(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Result<void*> bind_constant(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Result<void*> bind_mutable(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Result<void*> bind_external(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Error check_layout(const executorch_flatbuffer::Tensor& tensor, const char* key) const;
  void load_list(const executorch_flatbuffer::EValue& source);
  /// Pointers to the values of a list; -1 becomes null.
  template <typename T>
  EValue** point_at(Span<const T> items);

  const Program& program_;
  const executorch_flatbuffer::ExecutionPlan& plan_;
  HierarchicalAllocator* planned_memory_;
  DynamicAllocator* dynamic_allocator_;
  const NamedDataMap& data_;
  MethodBlock& block_;
  size_t& external_made_;

  /// How much of the block's arrays has been used.
  struct Used {
    size_t value = 0;
    size_t tensors = 0;
    size_t sizes = 0;
    size_t strides = 0;
    size_t growths = 0;
    /// Indexed by the kind of value.
    size_t of_kind[static_cast<size_t>(executorch_flatbuffer::KernelTypes::MAX) + 1] = {};
    size_t int_items = 0;
    size_t tensor_items = 0;
    size_t optional_items = 0;
    size_t pointers = 0;
  } used_;
};

/// Calls loader.load_unbounded(). The target `executorch` links it; without it, the function's
/// address is null and the runtime refuses programs that have unbounded tensors.
ET_WEAK Error load_unbounded_tensor(ValueLoader& loader,
                                    const executorch_flatbuffer::Tensor& tensor);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
