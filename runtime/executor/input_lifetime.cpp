// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/input_lifetime.h>

#include <executorch/runtime/executor/operator_text.h>
#include <executorch/runtime/executor/optional_vector.h>
#include <executorch/runtime/executor/planned_range.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::items;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;

namespace {

/// So many comparisons of an input with a written value are made; a program beyond that (none that
/// an exporter writes) has all of its inputs consumed.
constexpr size_t kMostComparisons = 1u << 22;

class Marker final {
 public:
  Marker(const fb::ExecutionPlan& plan, Span<Input> inputs)
      : plan_(plan), inputs_(inputs), comparisons_left_(kMostComparisons) {}

  void look_at(const fb::Instruction& instruction) {
    if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) {
      look_at(*call);
    } else if (const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall()) {
      // Which of its arguments are outputs, the backend alone knows.
      for (const int32_t argument : items(call->args())) {
        written(argument);
      }
    } else if (const fb::MoveCall* call = instruction.instr_args_as_MoveCall()) {
      const auto indices = items(plan_.inputs());
      for (size_t i = 0; i < inputs_.size(); ++i) {
        inputs_[i].is_consumed |= indices[i] == call->move_to();
      }
      comparisons_left_ -= comparisons_left_ < inputs_.size() ? comparisons_left_ : inputs_.size();
    }
  }

  bool gave_up() const { return comparisons_left_ == 0; }

 private:
  void look_at(const fb::KernelCall& call) {
    const auto arguments = items(call.args());
    const fb::Operator& op = *plan_.operators()->Get(static_cast<uint32_t>(call.op_index()));
    if (arguments.empty() || is_view(op)) {
      return;
    }
    // What an operator returns, and so writes, is last. Those that return nothing may write
    // anywhere.
    const auto last = static_cast<uint32_t>(arguments[arguments.size() - 1]);
    const fb::KernelTypes kind = plan_.values()->Get(last)->val_type();
    if (kind == fb::KernelTypes::Tensor || kind == fb::KernelTypes::TensorList) {
      written(arguments[arguments.size() - 1]);
      return;
    }
    for (const int32_t argument : arguments) {
      written(argument);
    }
  }

  void written(int32_t index) {
    const fb::EValue& value = *plan_.values()->Get(static_cast<uint32_t>(index));
    if (const fb::TensorList* list = value.val_as_TensorList()) {
      for (const int32_t item : items(list->items())) {
        written_tensor(item);
      }
    } else if (value.val_type() == fb::KernelTypes::Tensor) {
      written_tensor(index);
    }
  }

  void written_tensor(int32_t index) {
    const PlannedRange range =
        planned_range(*plan_.values()->Get(static_cast<uint32_t>(index))->val_as_Tensor());
    const auto indices = items(plan_.inputs());
    for (size_t i = 0; i < inputs_.size() && range.buffer != 0; ++i) {
      if (comparisons_left_ == 0) {
        return;
      }
      --comparisons_left_;
      // An operator that writes to the input itself is the model's doing, not the plan's.
      if (inputs_[i].tensor != nullptr && indices[i] != index &&
          range.overlaps(planned_range(*inputs_[i].tensor))) {
        inputs_[i].is_consumed = true;
      }
    }
  }

  const fb::ExecutionPlan& plan_;
  Span<Input> inputs_;
  size_t comparisons_left_;
};

}  // namespace

void mark_consumed_inputs(const fb::ExecutionPlan& plan, Span<Input> inputs) {
  Marker marker(plan, inputs);
  for (size_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (size_t i = 0; i < count(instructions); ++i) {
      marker.look_at(*instructions->Get(i));
    }
  }
  for (Input& input : inputs) {
    input.is_consumed |= marker.gave_up();
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
