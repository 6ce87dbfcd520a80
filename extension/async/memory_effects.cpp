// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/memory_effects.h>

#include <algorithm>
#include <numeric>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/planned_range.h>

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

enum Space : uint32_t { kValues, kData, kDelegates, kBuffers };
/// Number of arguments that Kernel::written_ has bits for.
constexpr size_t kMaskBits = 62;
constexpr uint64_t kArguments = (uint64_t{1} << kMaskBits) - 1;

class Collector final {
 public:
  Collector(const fb::ExecutionPlan& plan, const MethodBlock& block,
            std::vector<MemoryEffect>* effects)
      : plan_(plan),
        block_(block),
        effects_(*effects),
        shown_(count(plan.values())),
        places_(count(plan.values())),
        has_value_(count(plan.values())) {
    std::iota(shown_.begin(), shown_.end(), 0);
    for (size_t i = 0; i < has_value_.size(); ++i) {
      const fb::Tensor* tensor = plan.values()->Get(static_cast<uint32_t>(i))->val_as_Tensor();
      has_value_[i] = tensor == nullptr || tensor->data_buffer_idx() != 0 ||
                      tensor->extra_tensor_info() != nullptr ||
                      (block.flags[i] & kConstantValue) != 0;
    }
    for (const int32_t input : items(plan.inputs())) {
      has_value_[static_cast<size_t>(input)] = true;
    }
  }

  bool collect() {
    if (!for_each_instruction(&Collector::link_view) || !find_places()) return false;
    return for_each_instruction(&Collector::effect);
  }

 private:
  using Visit = bool (Collector::*)(const fb::Instruction&);

  bool for_each_instruction(Visit visit) {
    instruction_ = 0;
    for (size_t c = 0; c < count(plan_.chains()); ++c) {
      const auto* instructions = plan_.chains()->Get(c)->instructions();
      for (size_t i = 0; i < count(instructions); ++i, ++instruction_) {
        if (!(this->*visit)(*instructions->Get(i))) return false;
      }
    }
    return true;
  }

  const fb::EValue& value(int32_t index) const {
    return *plan_.values()->Get(static_cast<uint32_t>(index));
  }

  bool is_number(int32_t index) const {
    switch (value(index).val_type()) {
      case fb::KernelTypes::Int:
      case fb::KernelTypes::Bool:
      case fb::KernelTypes::Double:
      case fb::KernelTypes::Null:
        return true;
      default:
        return false;
    }
  }

  size_t shown(size_t index) {
    while (shown_[index] != index) {
      shown_[index] = shown_[shown_[index]];
      index = shown_[index];
    }
    return index;
  }

  /// Links a view to its source: it refers to the source's data at the time of its creation.
  bool link_view(const fb::Instruction& source) {
    const fb::KernelCall* call = source.instr_args_as_KernelCall();
    const fb::MoveCall* move = source.instr_args_as_MoveCall();
    if (move != nullptr) {
      return is_number(move->move_from()) && is_number(move->move_to());
    }
    if (call != nullptr && is_a_view(*call)) {
      const auto arguments = items(call->args());
      shown_[shown(static_cast<size_t>(arguments[2]))] = shown(static_cast<size_t>(arguments[0]));
    }
    return true;
  }

  bool is_a_view(const fb::KernelCall& call) const {
    return is_view(*plan_.operators()->Get(static_cast<uint32_t>(call.op_index()))) &&
           items(call.args()).size() >= 3;
  }

  bool effect(const fb::Instruction& source) {
    switch (source.instr_args_type()) {
      case fb::InstructionArguments::KernelCall:
        touch_kernel(*source.instr_args_as_KernelCall());
        break;
      case fb::InstructionArguments::DelegateCall:
        touch_delegate(*source.instr_args_as_DelegateCall());
        break;
      case fb::InstructionArguments::MoveCall:
        touch_value(source.instr_args_as_MoveCall()->move_from(), false);
        touch_value(source.instr_args_as_MoveCall()->move_to(), true);
        break;
      case fb::InstructionArguments::JumpFalseCall:
        touch_argument(source.instr_args_as_JumpFalseCall()->cond_value_index(), false);
        break;
      default:
        touch_argument(source.instr_args_as_FreeCall()->value_index(), true);
        break;
    }
    return true;
  }

  void touch_kernel(const fb::KernelCall& call) {
    const auto arguments = items(call.args());
    const Kernel* kernel = block_.kernels[static_cast<size_t>(call.op_index())];
    const uint64_t written = kernel == nullptr ? kArguments : kernel->written_ & kArguments;
    const bool view = is_a_view(call);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const bool is_written = written == 0 || view ? i + 1 == arguments.size() || (view && i == 2)
                                                   : i >= kMaskBits || (written >> i & 1) != 0;
      if (view) {
        touch_value(arguments[i], is_written);
        touch_items(arguments[i], false);
      } else {
        touch_argument(arguments[i], is_written);
      }
    }
  }

  void touch_delegate(const fb::DelegateCall& call) {
    const auto arguments = items(call.args());
    const auto index = static_cast<size_t>(call.delegate_index());
    const Delegate& delegate = block_.delegates[index];
    const size_t outputs = delegate.backend->output_count(delegate.handle);
    add(kDelegates, index, index + 1, true);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto argument = static_cast<size_t>(arguments[i]);
      const bool is_written = outputs == BackendInterface::kUnknownOutputs
                                  ? !has_value_[argument]
                                  : i + outputs >= arguments.size();
      touch_argument(arguments[i], is_written);
    }
    for (const int32_t argument : arguments) {
      has_value_[static_cast<size_t>(argument)] = true;
    }
  }

  void touch_argument(int32_t index, bool is_written) {
    touch_value(index, is_written);
    touch_data(index, is_written);
    touch_items(index, is_written);
  }

  void touch_value(int32_t index, bool is_written) {
    const auto at = static_cast<uint64_t>(index);
    add(kValues, at, at + 1, is_written);
    has_value_[at] = has_value_[at] || is_written;
  }

  /// Finds the planned bytes of each source with its views; false if they are in several buffers.
  bool find_places() {
    for (size_t i = 0; i < shown_.size(); ++i) {
      const fb::Tensor* tensor = value(static_cast<int32_t>(i)).val_as_Tensor();
      const PlannedRange own = tensor == nullptr ? PlannedRange() : planned_range(*tensor);
      PlannedRange& place = places_[shown(i)];
      if (own.buffer == 0) continue;
      if (place.buffer == 0) {
        place = own;
      } else if (place.buffer == own.buffer) {
        place.begin = std::min(place.begin, own.begin);
        place.end = std::max(place.end, own.end);
      } else {
        return false;
      }
    }
    return true;
  }

  void touch_data(int32_t index, bool is_written) {
    if (value(index).val_as_Tensor() == nullptr) return;
    const size_t key = shown(static_cast<size_t>(index));
    add(kData, key, key + 1, is_written);
    const PlannedRange& place = places_[key];
    if (place.buffer != 0) add(kBuffers + place.buffer, place.begin, place.end, is_written);
  }

  /// Reading a list also writes its cache of items.
  void touch_items(int32_t index, bool is_written) {
    const fb::EValue& list = value(index);
    const flatbuffers::Vector<int64_t>* numbers = nullptr;
    const flatbuffers::Vector<int32_t>* tensors = nullptr;
    if (list.val_type() == fb::KernelTypes::IntList) {
      numbers = list.val_as_IntList()->items();
    } else if (list.val_type() == fb::KernelTypes::TensorList) {
      tensors = list.val_as_TensorList()->items();
    } else if (list.val_type() == fb::KernelTypes::OptionalTensorList) {
      tensors = list.val_as_OptionalTensorList()->items();
    } else {
      return;
    }
    touch_value(index, true);
    for (const int64_t item : items(numbers)) {
      touch_value(static_cast<int32_t>(item), is_written);
    }
    for (const int32_t item : items(tensors)) {
      if (item < 0) continue;
      touch_value(item, is_written);
      touch_data(item, is_written);
    }
  }

  void add(uint32_t space, uint64_t begin, uint64_t end, bool is_written) {
    effects_.push_back({space, begin, end, instruction_, is_written});
  }

  const fb::ExecutionPlan& plan_;
  const MethodBlock& block_;
  std::vector<MemoryEffect>& effects_;
  /// Value → value whose data it refers to; views link to their source.
  std::vector<size_t> shown_;
  /// The places of sources, which include those of their views.
  std::vector<PlannedRange> places_;
  std::vector<bool> has_value_;
  uint32_t instruction_ = 0;
};

}  // namespace

bool collect_memory_effects(const fb::ExecutionPlan& plan, const MethodBlock& block,
                            std::vector<MemoryEffect>* effects) {
  return Collector(plan, block, effects).collect();
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
