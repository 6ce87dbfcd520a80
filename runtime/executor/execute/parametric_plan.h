// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Planned memory as a function of the inputs' sizes. A program may have such a plan beside the plan
// for the largest inputs. exir/memory/sizes/parametric.py writes it; docs/memory-planning.md
// describes the format.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/plan/optional_link.h>
#include <executorch/runtime/executor/plan/parametric_prefix.h>

// Defined if parametric plans are linked in, as the target `executorch` does. A runtime without
// them uses the plan for the largest inputs, which every program has.
extern "C" {
extern const int executorch_link_parametric_plan ET_OPTIONAL_LINK;
}

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::internal::kParametricPlanPrefix;
/// Index, as in MethodMeta, of the buffer that the plan divides. All other buffers are static.
inline constexpr size_t kParametricBuffer = 0;
inline constexpr uint32_t kParametricMemoryId = 1;

/// Returns true if the code is linked in; otherwise no function marked weak may be called.
inline bool parametric_plans_are_linked() { return &executorch_link_parametric_plan != nullptr; }

/// Straight-line arithmetic over the inputs' sizes, whose results are sizes and offsets of tensors.
/// Every tensor is checked to lie inside the buffer size of the file and inside the caller's
/// buffer; its capacity is the computed size.
class ParametricPlan final {
 public:
  ParametricPlan() = default;

  /// Verifies `block.plan_words`, which must not be empty.
  /// @retval Error::InvalidProgram After a message.
  /// @retval Error::NotSupported The plan has another version.
  [[nodiscard]] ET_OPTIONAL_LINK Error load(const executorch_flatbuffer::ExecutionPlan& plan,
                                            const MethodBlock& block);

  /// False if the method has no such plan: all of its memory is bound already.
  bool exists() const { return steps_ > 0; }

  /// Bytes of the buffer for the sizes that the inputs have now.
  /// @retval Error::InvalidArgument The sizes are negative, or exceed the plan's limit.
  ET_OPTIONAL_LINK Result<size_t> bytes(const executorch_flatbuffer::ExecutionPlan& plan,
                                        const MethodBlock& block);

  /// Gives every tensor of the buffer its sizes and memory, if either has changed, and checks that
  /// operands and results do not overlap there (alias_model.h). Resets values to those of the
  /// program. `program_size` in bytes bounds the work.
  /// @retval Error::MemoryAllocationFailed The caller's buffer is too small.
  /// @retval Error::InvalidProgram Operands and results overlap. Others as bytes().
  [[nodiscard]] ET_OPTIONAL_LINK Error place(const executorch_flatbuffer::ExecutionPlan& plan,
                                             const MethodBlock& block,
                                             HierarchicalAllocator& memory, size_t program_size);

 private:
  Error evaluate(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);
  Error verify_steps(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);
  Error verify_tensors(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block);
  Error place_tensor(const uint32_t* record, const MethodBlock& block, size_t limit,
                     void* base) const;

  uint32_t steps_ = 0;
  uint32_t tensors_ = 0;
  uint32_t height_ = 0;
  /// The buffer that tensors lie in now; null if none.
  void* base_ = nullptr;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
