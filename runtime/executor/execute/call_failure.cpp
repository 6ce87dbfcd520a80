// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/execute/call_failure.h>

#include <executorch/runtime/platform/log.h>

#if ET_LOG_ENABLED

#include <stdarg.h>
#include <stdio.h>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/executor/plan/operator_text.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::instruction_at;
using executorch::runtime::internal::text;

namespace {

/// Text of limited length; it drops what does not fit.
class Text final {
 public:
  void add(const char* format, ...) ET_PRINTF_FORMAT(2, 3) {
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text_ + size_, sizeof(text_) - size_, format, args);
    va_end(args);
    const size_t room = sizeof(text_) - size_ - 1;
    size_ += length < 0                           ? 0
             : static_cast<size_t>(length) < room ? static_cast<size_t>(length)
                                                  : room;
  }
  const char* c_str() const { return text_; }

 private:
  char text_[384] = "";
  size_t size_ = 0;
};

void add_tensor(const executorch::aten::Tensor& tensor, Text* out) {
  out->add("%s[", toString(tensor.scalar_type()));
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    out->add(i == 0 ? "%d" : ",%d", static_cast<int>(tensor.sizes()[i]));
  }
  out->add("]");
}

void add_value(const EValue& value, Text* out) {
  switch (value.tag) {
    case Tag::None:
      return out->add("None");
    case Tag::Int:
      return out->add("%" PRId64, value.toInt());
    case Tag::Double:
      return out->add("%g", value.toDouble());
    case Tag::Bool:
      return out->add(value.toBool() ? "true" : "false");
    case Tag::Tensor:
      return add_tensor(value.toTensor(), out);
    case Tag::String:
      return out->add("\"%.*s\"", static_cast<int>(value.toString().size()),
                      value.toString().data());
    case Tag::ListInt:
      out->add("[");
      for (const int64_t item : value.toIntList()) {
        out->add("%" PRId64 " ", item);
      }
      return out->add("]");
    case Tag::ListTensor:
      out->add("[");
      for (const auto& item : value.toTensorList()) {
        add_tensor(item, out);
        out->add(" ");
      }
      return out->add("]");
    default:
      return out->add("a list");
  }
}

void add_callee(const fb::ExecutionPlan& plan, size_t index, Text* out) {
  const fb::Instruction* instruction = instruction_at(plan, index);
  if (instruction == nullptr) {
    return;
  }
  if (const fb::KernelCall* call = instruction->instr_args_as_KernelCall()) {
    const fb::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(call->op_index()));
    out->add("operator %s.%s", text(op.name()), text(op.overload()));
  } else if (const fb::DelegateCall* call = instruction->instr_args_as_DelegateCall()) {
    out->add("backend %s, delegate %d",
             text(plan.delegates()->Get(static_cast<uint32_t>(call->delegate_index()))->id()),
             call->delegate_index());
  } else if (instruction->instr_args_as_JumpFalseCall() != nullptr) {
    out->add("jump");
  }
}

}  // namespace

void log_call_failure(const fb::ExecutionPlan& plan, const MethodBlock& block, size_t instruction,
                      Error error) {
  const Instruction& failed = block.instructions[instruction];
  Text callee;
  add_callee(plan, instruction, &callee);
  Text arguments;
  const bool is_call = failed.opcode == Opcode::Kernel || failed.opcode == Opcode::Delegate;
  for (uint32_t i = 0; is_call && i < failed.number; ++i) {
    arguments.add(i == 0 ? "" : ", ");
    add_value(*failed.arguments[i], &arguments);
  }
  ET_LOG(Error, "method '%s', instruction %zu: %s failed with %s; arguments (%s)",
         text(plan.name()), instruction, callee.c_str(), to_string(error), arguments.c_str());
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

#else

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

void log_call_failure(const executorch_flatbuffer::ExecutionPlan&, const MethodBlock&, size_t,
                      Error) {}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

#endif  // ET_LOG_ENABLED
