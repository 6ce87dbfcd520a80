// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Makes EValues, tensors and lists from the values of a verified method.
#pragma once

#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/plan/optional_link.h>
#include <executorch/runtime/executor/plan/plain_tensor.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Resets every value to the program's: its number, its tensor, its list. Execution changes values
/// (loop counters, moved tensors); this restores them.
void point_values(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);

/// Bits of ValueFlag that AliasModel starts from: who gives the tensor memory, and whether its
/// sizes may change.
inline uint8_t flags_of(executorch::runtime::internal::TensorSource source, bool is_planned,
                        bool is_resizable) {
  using executorch::runtime::internal::TensorSource;
  const int memory = source == TensorSource::None ? kLateValue : is_planned ? 0 : kConstantValue;
  return static_cast<uint8_t>(memory | (is_resizable ? kResizableValue : 0));
}
inline uint8_t flags_of(const executorch_flatbuffer::Tensor& tensor,
                        executorch::runtime::internal::TensorSource source) {
  return flags_of(source, tensor.allocation_info() != nullptr,
                  tensor.shape_dynamism() != executorch_flatbuffer::TensorShapeDynamism::STATIC);
}

/// Makes tensors, lists and values. All arguments must outlive it.
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

  /// Adds flags_of() each tensor to block.flags, which marks inputs, and fills block.inputs. Until
  /// then the value of an input is its number among the inputs.
  Error load();

  // Load one tensor, with or without a bound on its sizes.
  Error load_bounded(const executorch_flatbuffer::Tensor& tensor);
  Error load_unbounded(const executorch_flatbuffer::Tensor& tensor);

 private:
  using PlainTensor = executorch::runtime::internal::PlainTensorReader::Fields;

  Error load_tensor(const executorch_flatbuffer::Tensor& tensor);
  Error load_plain(const executorch_flatbuffer::Tensor& tensor, const PlainTensor& plain);
  /// Makes an unbounded tensor, which has no memory yet: one of `sizes` is 0.
  Error make_unbounded(const executorch_flatbuffer::Tensor& tensor, Span<const int32_t> sizes);
  /// The memory of the tensor that is being loaded.
  TensorSlot* next_slot() const {
    constexpr auto kKind = static_cast<size_t>(executorch_flatbuffer::KernelTypes::Tensor);
    return &block_.tensors[used_.of_kind[kKind]];
  }
#ifndef USE_ATEN_LIB
  void make_tensor(const executorch_flatbuffer::Tensor& tensor, TensorSlot* slot);
#endif
  /// The address of a tensor's data, aligned to its elements; null if it is given at run time.
  /// `where` is the tensor's planned memory or null.
  Result<void*> bind_aligned(const executorch_flatbuffer::Tensor& tensor,
                             const executorch_flatbuffer::AllocationDetails* where,
                             executorch::runtime::internal::TensorBytes bytes);
  Result<void*> bind(const executorch_flatbuffer::Tensor& tensor,
                     const executorch_flatbuffer::AllocationDetails* where, size_t nbytes);
  Result<void*> bind_planned(const executorch_flatbuffer::AllocationDetails& where, size_t nbytes);
  Result<void*> bind_constant(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Result<void*> bind_mutable(const executorch_flatbuffer::Tensor& tensor,
                             const executorch_flatbuffer::AllocationDetails& where, size_t nbytes);
  Result<void*> bind_external(const executorch_flatbuffer::Tensor& tensor, size_t nbytes);
  Error check_layout(const executorch_flatbuffer::Tensor& tensor, const char* key) const;
  /// `index` is the value's number among those of its kind.
  void load_list(const executorch_flatbuffer::EValue& source, size_t index);
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
  /// The source of the tensor that is being loaded.
  executorch::runtime::internal::TensorSource source_{};
  executorch::runtime::internal::PlainTensorReader plain_;
#ifndef USE_ATEN_LIB
  /// The last tensor that make_tensor() made, and its bytes.
  const executorch::aten::TensorImpl* made_ = nullptr;
  executorch::runtime::internal::TensorBytes bytes_{};
#endif

  /// How much of the block's arrays has been used.
  struct Used {
    size_t value = 0;
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
ET_OPTIONAL_LINK Error load_unbounded_tensor(ValueLoader& loader,
                                             const executorch_flatbuffer::Tensor& tensor);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
