// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/constant_values.h>

#include <executorch/runtime/executor/operator_text.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::items;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;

namespace {

/// Constants pass from value to value in program order, loops aside: so many rounds are enough for
/// what an exporter writes. After them, whatever is moved or viewed counts as constant.
constexpr int kMostRounds = 8;

bool is_constant_tensor(const fb::EValue& value) {
  const fb::Tensor* tensor = value.val_as_Tensor();
  if (tensor == nullptr) {
    return false;
  }
  const TensorSource source = tensor_source(*tensor);
  return source == TensorSource::Constant ||
         (source == TensorSource::External && tensor->allocation_info() == nullptr);
}

/// From which value to which an instruction passes a tensor; false if it does not.
bool passes_tensor(const fb::ExecutionPlan& plan, const fb::Instruction& instruction, size_t* from,
                   size_t* to) {
  if (const fb::MoveCall* call = instruction.instr_args_as_MoveCall()) {
    *from = static_cast<size_t>(call->move_from());
    *to = static_cast<size_t>(call->move_to());
    return true;
  }
  const fb::KernelCall* call = instruction.instr_args_as_KernelCall();
  if (call == nullptr || count(call->args()) < 3 ||
      !is_view(*plan.operators()->Get(static_cast<uint32_t>(call->op_index())))) {
    return false;
  }
  *from = static_cast<size_t>(items(call->args())[0]);
  *to = static_cast<size_t>(items(call->args())[2]);
  return true;
}

/// Passes constants on; true if there were any that were not known before.
bool pass_on(const fb::ExecutionPlan& plan, bool all, Span<bool> is_constant) {
  bool changed = false;
  for (size_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (size_t i = 0; i < count(instructions); ++i) {
      size_t from = 0;
      size_t to = 0;
      if (passes_tensor(plan, *instructions->Get(i), &from, &to) && (all || is_constant[from]) &&
          !is_constant[to]) {
        is_constant[to] = true;
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

void mark_constant_values(const fb::ExecutionPlan& plan, Span<bool> is_constant) {
  for (size_t i = 0; i < is_constant.size(); ++i) {
    is_constant[i] = is_constant_tensor(*plan.values()->Get(i));
  }
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = pass_on(plan, false, is_constant);
  }
  if (changed) {
    pass_on(plan, true, is_constant);
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
