// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Resolves the instructions of a verified method whose values are loaded: looks kernels up and
// checks their arguments, so that execution does neither.
#pragma once

#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

class InstructionLoader final {
 public:
  /// @param kernels The kernels to search; if empty, the registered ones.
  /// @param pointers The part of block.pointers that lists leave free.
  InstructionLoader(const executorch_flatbuffer::ExecutionPlan& plan, Span<const Kernel> kernels,
                    const MethodBlock& block, Span<EValue*> pointers);

  /// @retval Error::OperatorMissing After one message for each operator that has no kernel.
  /// Other errors are those of the kernels' argument checks.
  Error load();

 private:
  using Indices = Span<const int32_t>;

  Error load_one(const executorch_flatbuffer::Instruction& source, size_t chain_start,
                 Instruction* instruction);
  Error load_kernel(const executorch_flatbuffer::Instruction& source, Instruction* instruction);
  /// The kernel for these arguments; nullptr, after a message, if there is none.
  Result<const Kernel*> find(size_t op, Span<EValue* const> arguments);
  /// Takes pointers from `pointers_` and points them at the values.
  Span<EValue*> point_at(Indices indices);

  const executorch_flatbuffer::ExecutionPlan& plan_;
  Span<const Kernel> kernels_;
  const MethodBlock& block_;
  Span<EValue*> pointers_;
  size_t index_ = 0;
  bool any_missing_ = false;
  /// True if kernels for certain dtypes exist: each instruction needs its own look-up.
  bool keyed_kernels_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
