// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/instruction_loader.h>

#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/operator_text.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/kernel/kernel_list.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::as;
using executorch::runtime::internal::count;
using executorch::runtime::internal::items;
using executorch::runtime::internal::kOperatorTextSize;
using executorch::runtime::internal::text;
using executorch::runtime::internal::write_operator_text;
using Call = fb::InstructionArguments;

namespace {

/// In the list of kernels, marks an operator that has already been reported as missing.
constexpr Kernel kMissing;

/// Larger for a kernel that allows operands in fewer of the places that it writes to. The highest
/// two bits decide: kDisjoint alone, then kDisjoint with kDisjointButFirst, then neither.
uint64_t strictness(const Kernel& kernel) { return kernel.written_ ^ Kernel::kDisjointButFirst; }

/// A kernel key has at most 16 tensors, and the operator's result after them.
constexpr size_t kMaxKeyTensors = 16 + 1;

struct DimOrder {
  executorch::aten::DimOrderType dims[kTensorDimensionLimit];
};

/// Dtypes and dim orders of the tensors among the arguments. `orders` is memory for the dim orders.
size_t describe_tensors(Span<EValue* const> arguments, DimOrder* orders, TensorMeta* metas) {
  size_t described = 0;
  for (size_t i = 0; i < arguments.size() && described < kMaxKeyTensors; ++i) {
    if (arguments[i]->isTensor()) {
      const auto& tensor = arguments[i]->toTensor();
      const auto rank = static_cast<size_t>(tensor.dim());
      const bool known = get_dim_order(tensor, orders[described].dims, rank) == Error::Ok;
      metas[described] =
          TensorMeta(tensor.scalar_type(), {orders[described].dims, known ? rank : 0});
      ++described;
    }
  }
  return described;
}

/// The kernel of this name for these tensors; nullptr if there is none.
const Kernel* look_up(const char* name, Span<const TensorMeta> metas, Span<const Kernel> kernels) {
  if (kernels.empty()) {
    const Result<const Kernel*> kernel = find_kernel(name, metas);
    return kernel.ok() ? *kernel : nullptr;
  }
  return find_in_list(name, metas, kernels);
}

/// The same by dtypes and dim orders. A program's last argument repeats `out`, the operator's
/// result; a key may list that tensor too, as in ExecuTorch 1.4, or not. A separate function, so
/// that programs without keyed kernels need no stack for it.
ET_NOINLINE const Kernel* look_up_keyed(const char* name, Span<EValue* const> arguments,
                                        Span<const Kernel> kernels) {
  TensorMeta metas[kMaxKeyTensors];
  DimOrder orders[kMaxKeyTensors];
  const size_t count = describe_tensors(arguments, orders, metas);
  const Kernel* const kernel = look_up(name, {metas, count}, kernels);
  const size_t last = arguments.size() - 1;
  const bool is_repeated =
      arguments.size() > 1 && arguments[last] == arguments[last - 1] && arguments[last]->isTensor();
  const bool is_specialized = kernel != nullptr && !kernel->kernel_key_.is_fallback();
  return is_specialized || !is_repeated ? kernel : look_up(name, {metas, count - 1}, kernels);
}

}  // namespace

InstructionLoader::InstructionLoader(const fb::ExecutionPlan& plan, Span<const Kernel> kernels,
                                     const MethodBlock& block, Span<EValue*> pointers)
    : plan_(plan),
      kernels_(kernels),
      block_(block),
      pointers_(pointers),
      keyed_kernels_(kernels.empty() ? registered_kernels_have_keys() : have_keys(kernels)) {}

Error InstructionLoader::load() {
  for (const Kernel*& kernel : block_.kernels) {
    kernel = nullptr;
  }
  for (size_t c = 0; c < count(plan_.chains()); ++c) {
    const auto* instructions = plan_.chains()->Get(c)->instructions();
    const size_t chain_start = index_;
    for (size_t i = 0; i < count(instructions); ++i, ++index_) {
      ET_CHECK_OK_OR_RETURN_ERROR(
          load_one(*instructions->Get(i), chain_start, &block_.instructions[index_]));
    }
  }
  return any_missing_ ? Error::OperatorMissing : Error::Ok;
}

ET_INLINE_UNLESS_SMALL Error InstructionLoader::load_one(const fb::Instruction& source,
                                                         size_t chain_start,
                                                         Instruction* instruction) {
  *instruction = Instruction{};
  switch (source.instr_args_type()) {
    case Call::KernelCall:
      return load_kernel(source, instruction);
    case Call::DelegateCall: {
      const auto& call = as<fb::DelegateCall>(source);
      const Span<EValue*> arguments = point_at(items(call.args()));
      const int32_t index = call.delegate_index();
      instruction->opcode = Opcode::Delegate;
      instruction->delegate = &block_.delegates[static_cast<size_t>(index)];
      instruction->arguments = arguments.data();
      instruction->number = static_cast<uint32_t>(arguments.size());
      return Error::Ok;
    }
    case Call::MoveCall: {
      const auto& call = as<fb::MoveCall>(source);
      const int32_t from_to[] = {call.move_from(), call.move_to()};
      instruction->opcode = Opcode::Move;
      instruction->arguments = point_at(from_to).data();
      return Error::Ok;
    }
    case Call::JumpFalseCall: {
      const auto& call = as<fb::JumpFalseCall>(source);
      const int32_t condition[] = {call.cond_value_index()};
      instruction->opcode = Opcode::JumpFalse;
      instruction->arguments = point_at(condition).data();
      instruction->number = static_cast<uint32_t>(chain_start) +
                            static_cast<uint32_t>(call.destination_instruction());
      return Error::Ok;
    }
    default: {
      const int32_t freed[] = {as<fb::FreeCall>(source).value_index()};
      instruction->opcode = Opcode::Free;
      instruction->arguments = point_at(freed).data();
      return Error::Ok;
    }
  }
}

ET_INLINE_UNLESS_SMALL Error InstructionLoader::load_kernel(const fb::Instruction& source,
                                                            Instruction* instruction) {
  const auto& call = as<fb::KernelCall>(source);
  const auto op = static_cast<size_t>(call.op_index());
  const Span<EValue*> arguments = point_at(items(call.args()));
  const Span<EValue* const> checked(arguments.data(), arguments.size());
  const Kernel* kernel = ET_UNWRAP(find(op, checked));
  if (kernel == &kMissing) {
    return Error::Ok;
  }
  const Error error = kernel->check_ == nullptr ? Error::Ok : kernel->check_(checked);
  ET_CHECK_OK_OR_RETURN_ERROR(
      error, "method '%s', instruction %zu: operator %s does not take these arguments",
      text(plan_.name()), index_, kernel->name_);
  instruction->opcode = Opcode::Kernel;
  instruction->source = kernel;
  instruction->op = static_cast<uint16_t>(op);
  instruction->arguments = arguments.data();
  instruction->number = static_cast<uint32_t>(arguments.size());
  return Error::Ok;
}

ET_INLINE_UNLESS_SMALL Result<const Kernel*> InstructionLoader::find(
    size_t op, Span<EValue* const> arguments) {
  const Kernel*& known = block_.kernels[op];
  if (known == &kMissing || (known != nullptr && !keyed_kernels_)) {
    return known;
  }
  char name[kOperatorTextSize];
  ET_CHECK_OK_OR_RETURN_ERROR(write_operator_text(*plan_.operators()->Get(op), name));
  const Kernel* found =
      keyed_kernels_ ? look_up_keyed(name, arguments, kernels_) : look_up(name, {}, kernels_);
  if (found == nullptr) {
    ET_LOG(Error, "method '%s', instruction %zu: no kernel for operator %s", text(plan_.name()),
           index_, name);
    any_missing_ = true;
    found = &kMissing;
  }
  if (known == nullptr || strictness(*known) < strictness(*found)) {
    known = found;
  }
  return found;
}

ET_INLINE_UNLESS_SMALL Span<EValue*> InstructionLoader::point_at(Indices indices) {
  const Span<EValue*> taken(pointers_.data(), indices.size());
  pointers_ = {pointers_.data() + indices.size(), pointers_.size() - indices.size()};
  for (size_t i = 0; i < indices.size(); ++i) {
    taken[i] = &block_.values[static_cast<size_t>(indices[i])];
  }
  return taken;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
