// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Execution of a method. Its inputs and outputs are in method_io.cpp, queries in
// method_queries.cpp.
#include <executorch/runtime/executor/method.h>

#include <utility>

#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>
#include <executorch/runtime/executor/execute/call_failure.h>
#include <executorch/runtime/executor/execute/event_name.h>
#include <executorch/runtime/executor/load/delegate_loader.h>
#include <executorch/runtime/executor/load/value_loader.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

using internal::Instruction;
using internal::Opcode;

Method::Method(Method&& other) noexcept
    : program_(std::exchange(other.program_, nullptr)),
      plan_(other.plan_),
      planned_memory_(other.planned_memory_),
      temp_allocator_(other.temp_allocator_),
      event_tracer_(other.event_tracer_),
      temp_allocator_id_(other.temp_allocator_id_),
      block_(other.block_),
      parametric_plan_(other.parametric_plan_),
      delegates_made_(std::exchange(other.delegates_made_, 0)),
      external_made_(std::exchange(other.external_made_, 0)),
      view_facts_(other.view_facts_),
      next_(other.next_),
      loop_limits_(other.loop_limits_),
      async_state_(std::exchange(other.async_state_, nullptr)) {
  // `other` no longer owns anything that moved to this method.
  other.block_ = internal::MethodBlock();
  other.parametric_plan_ = internal::ParametricPlan();
}

Method::~Method() {
  for (size_t i = 0; i < delegates_made_; ++i) {
    internal::destroy_delegate(block_.delegates[i]);
  }
  for (size_t i = 0; i < external_made_; ++i) {
    block_.external[i].~FreeableBuffer();
  }
  internal::destroy_references(block_);
  if (async_state_ != nullptr) {
    async_state_->destroy(async_state_);
  }
}

Error Method::check_usable() const {
  ET_CHECK_OR_RETURN_ERROR(program_ != nullptr, InvalidState, "method '%s' was moved from", name());
  ET_CHECK_OR_RETURN_ERROR(!runs_elsewhere_.load(std::memory_order_acquire), InvalidState,
                           "method '%s': execute_async() has not finished", name());
  return Error::Ok;
}

Error Method::begin() {
  for (size_t i = 0; i < block_.inputs.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(
        block_.inputs[i].is_set, InvalidState, "method '%s': input %zu is not set%s", name(), i,
        block_.inputs[i].is_consumed ? " (each execution uses its memory for other values as well)"
                                     : "");
  }
  if (parametric_plan_.exists()) {
    ET_CHECK_OR_RETURN_ERROR(planned_memory_ != nullptr, MemoryAllocationFailed,
                             "method '%s': planned memory is needed, none was given", name());
    ET_CHECK_OK_OR_RETURN_ERROR(
        parametric_plan_.place(*plan_, block_, *planned_memory_, program_->program_data_.size()));
  }
  internal::release_growing(block_);
  loop_limits_.left = loop_limits_.budget;
  if (ET_UNLIKELY(view_facts_.outlive != 0)) {
    unbind_views(internal::kViewValue, block_.flags.size());
  }
  for (internal::Input& input : block_.inputs) {
    input.is_set = !input.is_consumed || input.tensor == nullptr;
  }
  return Error::Ok;
}

void Method::unbind_views(uint8_t flags, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((block_.flags[i] & flags) == flags) {
      internal::reset_data_ptr(block_.values[i].toTensor());
    }
  }
}

Result<size_t> Method::memory_planned_buffer_size(size_t index) {
  if (parametric_plan_.exists() && index == internal::kParametricBuffer) {
    return parametric_plan_.bytes(*plan_, block_);
  }
  return static_cast<size_t>(ET_UNWRAP(method_meta().memory_planned_buffer_size(index)));
}

Error Method::run(bool all) {
  internal::PlatformMemoryAllocator platform;
  KernelRuntimeContext context(event_tracer_,
                               temp_allocator_ != nullptr ? temp_allocator_ : &platform);
  const bool is_traced = internal::tracing(event_tracer_);
  do {
    ET_CHECK_OK_OR_RETURN_ERROR(is_traced ? run_next_traced(context) : run_next(context));
  } while (all && next_ < block_.instructions.size());
  return Error::Ok;
}

namespace {

bool has_memory(const executorch::aten::Tensor& tensor) {
  return tensor.const_data_ptr() != nullptr || tensor.numel() == 0;
}

bool has_memory(const EValue& value) {
  if (value.isTensor()) {
    return has_memory(value.toTensor());
  }
  if (value.isTensorList()) {
    for (const auto& tensor : value.toTensorList()) {
      if (!has_memory(tensor)) {
        return false;
      }
    }
  }
  if (value.isListOptionalTensor()) {
    for (const auto& tensor : value.toListOptionalTensor()) {
      if (tensor.has_value() && !has_memory(*tensor)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Error Method::execute() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(next_ == 0, InvalidState,
                           "method '%s': an execution has begun, at instruction %zu", name(),
                           next_);
  ET_CHECK_OK_OR_RETURN_ERROR(begin());
  internal::event_tracer_create_event_block(event_tracer_, "Execute");
  const internal::EventTracerProfileMethodScope scope(event_tracer_, "Method::execute");
  if (!block_.instructions.empty()) {
    ET_CHECK_OK_OR_RETURN_ERROR(run(/*all=*/true));
  }
  if (internal::tracing(event_tracer_)) {
    for (size_t i = 0; i < outputs_size(); ++i) {
      // An output may lack memory: a jump may have skipped the view that makes it.
      if (has_memory(get_output(i))) {
        internal::event_tracer_log_evalue_output(event_tracer_, get_output(i));
      }
    }
  }
  next_ = 0;
  return Error::Ok;
}

Error Method::step() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  if (next_ >= block_.instructions.size()) {
    // A method without instructions ends at its first step.
    return Error::EndOfMethod;
  }
  if (next_ == 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(begin());
  }
  return run(/*all=*/false);
}

Error Method::reset_execution() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(next_ == block_.instructions.size(), InvalidState,
                           "method '%s': step() is at instruction %zu of %zu", name(), next_,
                           block_.instructions.size());
  next_ = 0;
  return Error::Ok;
}

namespace {

/// True if the branch is taken: a tensor is true if all of its elements are.
bool is_true(const EValue& condition) {
  if (condition.tag == Tag::Bool) {
    return condition.payload.copyable_union.as_bool;
  }
  const executorch::aten::Tensor& tensor = condition.payload.as_tensor;
  const auto* elements = static_cast<const uint8_t*>(tensor.const_data_ptr());
  for (ssize_t i = 0; elements != nullptr && i < tensor.numel(); ++i) {
    if (elements[i] == 0) {
      return false;
    }
  }
  return true;
}

/// Frees the memory of an unbounded tensor; other tensors use planned memory or the caller's.
void release_memory(const EValue& tensor) {
  internal::TensorGrowth* growth = internal::growth_of(tensor.payload.as_tensor);
  if (growth != nullptr) {
    growth->release(*growth);
  }
}

}  // namespace

Error Method::check_late_memory(const Instruction& instruction, size_t index) const {
  for (uint32_t i = 0; i < instruction.number; ++i) {
    ET_CHECK_OR_RETURN_ERROR(has_memory(*instruction.arguments[i]), InvalidState,
                             "method '%s', instruction %zu: argument %u has no memory; an output "
                             "that is not planned needs set_output_data_ptr(), a view has to be "
                             "made in the same execution",
                             name(), index, i);
  }
  return Error::Ok;
}

Error Method::run_delegate(const Instruction& instruction, MemoryAllocator* temp_allocator) {
  BackendExecutionContext context(event_tracer_, temp_allocator, name());
  const internal::Delegate& delegate = *instruction.delegate;
  return delegate.backend->execute(context, delegate.handle,
                                   {instruction.arguments, instruction.number});
}

void Method::release_temp(MemoryAllocator* temp_allocator) {
  // Methods that run on several threads are not traced.
  if (internal::tracing(event_tracer_) && temp_allocator->used_size() != 0) {
    event_tracer_->track_allocation(temp_allocator_id_, temp_allocator->used_size());
  }
  temp_allocator->reset();
}

Error Method::run_next(KernelRuntimeContext& context) {
  const Error error = run_at(&next_, context);
  return ET_UNLIKELY(error != Error::Ok) ? fail(error) : error;
}

Error Method::run_at(size_t* next, KernelRuntimeContext& context) {
  const Instruction& instruction = block_.instructions.data()[*next];
  if (ET_UNLIKELY(instruction.has_late_memory)) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_late_memory(instruction, *next));
  }
  switch (instruction.opcode) {
    case Opcode::Kernel:
      instruction.kernel(context, {instruction.arguments, instruction.number});
      release_temp(context.internal_temp_allocator());
      if (ET_UNLIKELY(context.failure_state() != Error::Ok)) {
        return context.failure_state();
      }
      break;
    case Opcode::Delegate: {
      const Error error = run_delegate(instruction, context.internal_temp_allocator());
      release_temp(context.internal_temp_allocator());
      ET_CHECK_OK_OR_RETURN_ERROR(error);
      break;
    }
    case Opcode::Move:
      *instruction.arguments[1] = *instruction.arguments[0];
      break;
    case Opcode::JumpFalse:
      if (!is_true(*instruction.arguments[0])) {
        // Only jumps go to an earlier instruction, so every loop passes here. Executions on other
        // threads check for themselves.
        if (loop_limits_.check_round != nullptr && instruction.number <= *next && next == &next_) {
          ET_CHECK_OK_OR_RETURN_ERROR(loop_limits_.check_round(*this, instruction.number));
        }
        *next = instruction.number;
        return Error::Ok;
      }
      break;
    case Opcode::Free:
      release_memory(*instruction.arguments[0]);
      break;
  }
  ++*next;
  return Error::Ok;
}

void Method::set_interrupt_flag(const std::atomic<bool>* flag) {
  const auto is_set = [](void* context) {
    return static_cast<const std::atomic<bool>*>(context)->load(std::memory_order_relaxed);
  };
  set_interrupt_check(flag == nullptr ? nullptr : InterruptCheck(is_set),
                      const_cast<std::atomic<bool>*>(flag));
}

void Method::set_instruction_budget(size_t instructions) {
  loop_limits_.budget = instructions;
  loop_limits_.check_round = check_round;
}

void Method::set_interrupt_check(InterruptCheck check, void* context) {
  loop_limits_.check = check;
  loop_limits_.context = context;
  loop_limits_.check_round = check_round;
}

Error Method::check_round(Method& method, size_t to) {
  LoopLimits& limits = method.loop_limits_;
  const size_t from = method.next_;
  ET_CHECK_OR_RETURN_ERROR(limits.check == nullptr || !limits.check(limits.context), InvalidState,
                           "method '%s' was interrupted at instruction %zu", method.name(), from);
  if (limits.budget == 0) {
    return Error::Ok;
  }
  const size_t round = from - to + 1;
  if (round > limits.left) {
    limits.left = kUsedUp;
    return method.log_used_budget(from);
  }
  limits.left -= round;
  return Error::Ok;
}

Error Method::log_used_budget(size_t instruction) const {
  ET_LOG(Error,
         "method '%s': the loop that ends at instruction %zu needs more than the budget of %zu "
         "instructions",
         name(), instruction, loop_limits_.budget);
  return Error::OutOfResources;
}

Error Method::run_next_traced(KernelRuntimeContext& context) {
  const Instruction& instruction = block_.instructions[next_];
  const internal::EventTracerProfileInstructionScope place(event_tracer_, 0,
                                                           static_cast<DebugHandle>(next_));
  Error error = Error::Ok;
  if (instruction.opcode == Opcode::Kernel) {
    char name[executorch::runtime::internal::kEventNameSize];
    executorch::runtime::internal::write_event_name(*plan_, instruction.op, name);
    const internal::EventTracerOperatorScope scope(event_tracer_, name);
    error = run_next(context);
  } else if (instruction.opcode == Opcode::Delegate) {
    const internal::EventTracerProfileOpScope scope(event_tracer_, "DELEGATE_CALL");
    error = run_next(context);
  } else {
    return run_next(context);
  }
  if (error == Error::Ok) {
    log_results(instruction);
  }
  return error;
}

void Method::log_results(const Instruction& instruction) {
  // An operator's last argument is its result. A delegate's outputs look like its inputs, so all of
  // its arguments are logged.
  const uint32_t first =
      instruction.opcode == Opcode::Kernel && instruction.number > 0 ? instruction.number - 1 : 0;
  for (uint32_t i = first; i < instruction.number; ++i) {
    if (has_memory(*instruction.arguments[i])) {
      internal::event_tracer_log_evalue(event_tracer_, *instruction.arguments[i]);
    }
  }
}

Error Method::fail(Error error) {
  internal::log_call_failure(*plan_, block_, next_, error);
  restore_values();
  return error;
}

void Method::restore_values() {
  internal::point_values(*plan_, block_);
  next_ = 0;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
