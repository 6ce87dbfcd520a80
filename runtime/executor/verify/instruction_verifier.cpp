// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <stdint.h>
#include <string.h>

#include <algorithm>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

namespace fb = executorch_flatbuffer;
using Call = fb::InstructionArguments;
using Kind = fb::KernelTypes;

/// Checks the instructions of a chain.
class Checker final {
 public:
  Checker(const fb::ExecutionPlan& plan, size_t instructions, size_t longest_list,
          ProgramBudget* budget)
      : plan_(plan),
        values_(plan.values()),
        instructions_(instructions),
        longest_list_(longest_list),
        budget_(*budget) {}

  Error check(size_t index, const fb::Instruction& instruction) {
    index_ = index;
    switch (instruction.instr_args_type()) {
      case Call::KernelCall:
        return call(as<fb::KernelCall>(instruction));
      case Call::DelegateCall:
        return call(as<fb::DelegateCall>(instruction));
      case Call::MoveCall:
        return move(as<fb::MoveCall>(instruction));
      case Call::JumpFalseCall:
        return jump(as<fb::JumpFalseCall>(instruction));
      default:
        return value(as<fb::FreeCall>(instruction).value_index(), "FreeCall", Kind::Tensor);
    }
  }

 private:
  Error call(const fb::KernelCall& call) const {
    // Loaded instructions have 16 bits for it.
    constexpr size_t kMax = UINT16_MAX;
    ET_CHECK_OK_OR_RETURN_ERROR(
        in_range(call.op_index(), std::min(count(plan_.operators()), kMax), "operator"));
    return arguments(items(call.args()));
  }

  Error call(const fb::DelegateCall& call) const {
    ET_CHECK_OK_OR_RETURN_ERROR(
        in_range(call.delegate_index(), count(plan_.delegates()), "delegate"));
    return arguments(items(call.args()));
  }

  Error arguments(Span<const int32_t> arguments) const {
    const size_t values = count(values_);
    const bool is_estimated = ET_SHORTCUTS && spend_estimate(arguments.size());
    for (const int32_t argument : arguments) {
      ET_CHECK_OK_OR_RETURN_ERROR(in_range(argument, values, "argument: value"));
      ET_CHECK_OR_RETURN_ERROR(
          is_estimated || budget_.spend(1 + list_size(value_at(argument))), InvalidProgram,
          "method '%s', instruction %zu: argument lists repeat beyond the size of the file",
          text(plan_.name()), index_);
    }
    return Error::Ok;
  }

  bool spend_estimate(size_t arguments) const {
    size_t items = 0;
    return !mul_overflows(arguments, longest_list_ + 1, &items) && budget_.estimated.spend(items);
  }

  Error move(const fb::MoveCall& move) const {
    ET_CHECK_OK_OR_RETURN_ERROR(in_range(move.move_from(), count(values_), "value"));
    const Kind moved = kind(move.move_from());
    ET_CHECK_OK_OR_RETURN_ERROR(value(move.move_to(), "MoveCall", moved));
    // Numbers and tensors only: list items, and the values that may write to them, never change.
    ET_CHECK_OR_RETURN_ERROR(
        moved <= Kind::Tensor, InvalidProgram,
        "method '%s', instruction %zu: MoveCall on value %d of kind %u, expected a tensor, a "
        "number or None (1 to 5)",
        text(plan_.name()), index_, move.move_to(), static_cast<unsigned>(moved));
    return moved != Kind::Tensor ? Error::Ok : move_tensor(move.move_from(), move.move_to());
  }

  /// Kernels are chosen, and their arguments checked, by the values of the program: a tensor may
  /// only replace one with the same properties.
  Error move_tensor(int32_t from, int32_t to) const {
    const fb::Tensor& moved = *tensor_at(plan_, static_cast<size_t>(from));
    const fb::Tensor& target = *tensor_at(plan_, static_cast<size_t>(to));
    const TensorSource source = tensor_source(target);
    ET_CHECK_OR_RETURN_ERROR(
        source == TensorSource::None || source == TensorSource::Planned, InvalidProgram,
        "method '%s', instruction %zu: MoveCall onto value %d, which has data of the program or "
        "from outside of it (source %u), expected none",
        text(plan_.name()), index_, to, static_cast<unsigned>(source));
    const auto order = items(moved.dim_order());
    const auto wanted = items(target.dim_order());
    ET_CHECK_OR_RETURN_ERROR(
        moved.scalar_type() == target.scalar_type() && order.size() == wanted.size() &&
            (order.empty() || order.data() == wanted.data() ||
             memcmp(order.data(), wanted.data(), order.size()) == 0),
        InvalidProgram,
        "method '%s', instruction %zu: MoveCall of value %d (scalar type %d, rank %zu) onto value "
        "%d (type %d, rank %zu), expected the same type, rank and dim order",
        text(plan_.name()), index_, from, static_cast<int>(moved.scalar_type()), order.size(), to,
        static_cast<int>(target.scalar_type()), wanted.size());
    return Error::Ok;
  }

  Error jump(const fb::JumpFalseCall& jump) const {
    // The end is a legal target: a branch may be the last thing that a method does.
    const auto destination = static_cast<uint32_t>(jump.destination_instruction());
    ET_CHECK_OR_RETURN_ERROR(
        destination <= instructions_ && destination != index_, InvalidProgram,
        "method '%s', instruction %zu: jump to instruction %d of %zu, expected another one",
        text(plan_.name()), index_, jump.destination_instruction(), instructions_);
    const int32_t condition = jump.cond_value_index();
    ET_CHECK_OK_OR_RETURN_ERROR(in_range(condition, count(values_), "condition: value"));
    if (kind(condition) != Kind::Tensor) {
      return value(condition, "JumpFalseCall", Kind::Bool);
    }
    const auto type = tensor_at(plan_, static_cast<size_t>(condition))->scalar_type();
    ET_CHECK_OR_RETURN_ERROR(
        type == fb::ScalarType::BOOL, InvalidProgram,
        "method '%s', instruction %zu: JumpFalseCall on a tensor of scalar type "
        "%d, expected BOOL (11)",
        text(plan_.name()), index_, static_cast<int>(type));
    return Error::Ok;
  }

  Error in_range(int32_t index, size_t size, const char* what) const {
    ET_CHECK_OR_RETURN_ERROR(static_cast<uint32_t>(index) < size, InvalidProgram,
                             "method '%s', instruction %zu: %s %d of %zu", text(plan_.name()),
                             index_, what, index, size);
    return Error::Ok;
  }

  Error value(int32_t index, const char* call, Kind wanted) const {
    ET_CHECK_OK_OR_RETURN_ERROR(in_range(index, count(values_), "value"));
    ET_CHECK_OR_RETURN_ERROR(
        kind(index) == wanted, InvalidProgram,
        "method '%s', instruction %zu: %s on value %d of kind %u, expected kind %u",
        text(plan_.name()), index_, call, index, static_cast<unsigned>(kind(index)),
        static_cast<unsigned>(wanted));
    return Error::Ok;
  }

  const fb::EValue& value_at(int32_t index) const {
    return *values_->Get(static_cast<uint32_t>(index));
  }
  Kind kind(int32_t index) const { return value_at(index).val_type(); }

  const fb::ExecutionPlan& plan_;
  const flatbuffers::Vector<flatbuffers::Offset<fb::EValue>>* values_;
  size_t index_ = 0;
  size_t instructions_;
  size_t longest_list_;
  ProgramBudget& budget_;
};

}  // namespace

Error verify_instructions(const fb::ExecutionPlan& plan, size_t longest_list,
                          ProgramBudget* budget) {
  for (size_t c = 0; c < count(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    Checker checker(plan, count(instructions), longest_list, budget);
    for (size_t i = 0; i < count(instructions); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(checker.check(i, *instructions->Get(i)));
    }
  }
  return Error::Ok;
}

}  // namespace executorch::runtime::internal
