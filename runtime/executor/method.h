// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string_view>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/execute/parametric_plan.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/backend/backend_options_map.h>
#endif

namespace executorch_flatbuffer {
struct ExecutionPlan;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace runtime {
class TaskPool;
}  // namespace runtime

namespace ET_RUNTIME_NAMESPACE {

class Execution;
class Program;

namespace internal {
class RunningTasks;

/// State that a method shares between its executions on other threads. The method owns it.
struct AsyncState {
  void (*destroy)(AsyncState* state);
};
}  // namespace internal

/// A method of a program, ready to run; made by Program::load_method(). Everything is resolved:
/// executing is a loop over instructions. Not thread-safe, but independent of all other methods.
///
/// The Program, the MemoryManager and all that was given to load_method() must outlive it. After a
/// failed execution the method can be used again: set the inputs and execute. (Buffers that the
/// model itself updates keep what the failed execution wrote.)
///
/// All functions of a method that was moved from, and functions that set inputs or outputs or
/// execute while other threads execute the method, return Error::InvalidState.
class Method final {
 public:
  Method(Method&& other) noexcept;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  Method& operator=(Method&&) = delete;
  ~Method();

  size_t inputs_size() const { return block_.inputs.size(); }
  size_t outputs_size() const;
  MethodMeta method_meta() const { return MethodMeta(plan_, block_.plan_words.size()); }

  /// The bytes of planned buffer `index` that an execution with the current input sizes needs:
  /// MethodMeta::memory_planned_buffer_size(), or less if the method is planned parametric in
  /// shape. Such a method reads its HierarchicalAllocator's buffer 0 only when it is executed: the
  /// buffer may be as small as this, and a different one at each execution. Every buffer that it
  /// was given must stay valid until the method is destroyed.
  /// @retval Error::InvalidArgument There is no such buffer, or no input of these sizes is allowed.
  Result<size_t> memory_planned_buffer_size(size_t index);

  /// The bytes of working memory that the method's delegates took beyond its allocators. Memory
  /// that several of them share counts once (of more than 16 delegates, only if there is temporary
  /// memory to compare them in); other methods may share it too.
  size_t delegate_scratch_size() const;

  /// Visits the operators of each delegate whose backend describes them
  /// (BackendInterface::describe). Delegates count from 0.
  [[nodiscard]] Error describe_delegates(
      FunctionRef<void(size_t delegate, const DelegateOperator&)> visit) const;

  /// Sets an input. A tensor must be dense in the input's dim order and have its dtype, rank and
  /// sizes (for a dynamic input: at most its sizes). If the plan has memory for the input
  /// (TensorInfo::is_memory_planned()), it is copied there; else the method uses the given memory,
  /// which must outlive the execution. Ints, doubles, bools and strings are part of the program:
  /// they are set from the start, and only the same value is accepted. An input stays set for
  /// further executions, except where the plan uses its memory for other values as well.
  /// @retval Error::InvalidArgument After a log message with what was expected and found.
  [[nodiscard]] Error set_input(const EValue& input_evalue, size_t input_idx);
  /// Unsets an input, which must be set before the next execution. Inputs other than tensors keep
  /// the program's value.
  /// @retval Error::InvalidArgument The method has no such input.
  [[nodiscard]] Error clear_input(size_t input_idx);
  /// Unsets all inputs that use the caller's memory, which may then be freed. Outputs and
  /// attributes that may show this memory have none until the next execution.
  /// @retval Error::InvalidState An execution has begun.
  [[nodiscard]] Error release_inputs();
  /// Returns true if the method may write to the memory that set_input() gives it: the plan lacks
  /// memory for the input, and a call writes to it.
  bool writes_to_given_input(size_t input_idx) const;
  /// Returns true if the plan has memory for the input, and no value depends on its place. The
  /// first call computes the answers for all inputs and outputs. For more than 16 of them it takes
  /// temporary memory, and returns false if there is none.
  bool is_input_unaliased(size_t input_idx) const;
  /// Like set_input(), for an input with planned memory, but without a copy: the method reads the
  /// caller's tensor, which must not change until execution has ended.
  /// @retval Error::InvalidState is_input_unaliased() is false, or step() has begun an execution.
  [[nodiscard]] Error bind_input_data(const EValue& input_evalue, size_t input_idx);
  /// Earlier names, kept for one release.
  bool input_stands_alone(size_t input_idx) const { return is_input_unaliased(input_idx); }
  bool output_stands_alone(size_t output_idx) const { return is_output_unaliased(output_idx); }
  [[nodiscard]] Error lend_input(const EValue& input_evalue, size_t input_idx) {
    return bind_input_data(input_evalue, input_idx);
  }
  /// Sets all inputs.
  [[nodiscard]] Error set_inputs(const executorch::aten::ArrayRef<EValue>& input_evalues);

  /// Makes the method write an output to the caller's memory, which must outlive the execution and
  /// the use of the output.
  /// @retval Error::InvalidState The plan has memory for the output.
  /// @retval Error::InvalidType The output is not a tensor.
  /// @retval Error::InvalidArgument `size` is less than the bytes of the output (for a dynamic
  ///     output: at its largest sizes), the memory is not aligned to its elements, or the output
  ///     does not exist.
  [[nodiscard]] Error set_output_data_ptr(void* buffer, size_t size, size_t output_idx);
  /// Returns true if the plan has memory for the output, and no other value depends on its place.
  bool is_output_unaliased(size_t output_idx) const;
  /// Like set_output_data_ptr() for an output with planned memory: from now on the method writes it
  /// to the caller's memory instead.
  /// @retval Error::InvalidState is_output_unaliased() is false.
  [[nodiscard]] Error replace_output_data_ptr(void* buffer, size_t size, size_t output_idx);

  /// Output `i`, which must exist. Tensors refer to the method's memory: valid until it is executed
  /// again.
  const EValue& get_output(size_t i) const;
  /// All outputs, and None in the rest of the array.
  /// @retval Error::InvalidArgument `length` is less than outputs_size().
  [[nodiscard]] Error get_outputs(EValue* output_evalues, size_t length);
  /// Input `i`, which must exist, as it is set.
  const EValue& get_input(size_t i) const;
  [[nodiscard]] Error get_inputs(EValue* input_evalues, size_t length);

  /// The tensor of that name (a parameter or buffer), or one of them if several have it. Its data
  /// may be changed, unless it is a constant.
  /// @retval Error::NotFound There is none.
  Result<executorch::aten::Tensor> get_attribute(std::string_view name);

  /// Maximum number of instructions that the loops of one execution may run; 0, the default: no
  /// limit. Each jump back counts the instructions from its destination to itself. Instructions
  /// outside of loops are not counted: the program's size bounds them. Applies to execute_async()
  /// too.
  void set_instruction_budget(size_t instructions);
  /// Returns true if the last execution ended because its instruction budget was used up.
  bool instruction_budget_is_used_up() const { return loop_limits_.left == kUsedUp; }

  /// Called at every jump back of execute() and step(), so in every loop; they end with
  /// Error::InvalidState if it returns true. Null disables it. `context` must outlive the
  /// executions. execute_async() has Execution::cancel() for that.
  using InterruptCheck = bool (*)(void* context);
  void set_interrupt_check(InterruptCheck check, void* context);
  /// The same with a flag, which any thread or signal handler may set; null disables it. It must
  /// outlive the executions, and stays set until the caller clears it.
  void set_interrupt_flag(const std::atomic<bool>* flag);

  /// Runs the method.
  /// @retval Error::InvalidState An input is not set, an output has no memory, step() has begun an
  /// execution, or it was interrupted. Error::OutOfResources The instruction budget is used up.
  /// Other errors are those of the kernel or backend that failed; the log has its arguments.
  [[nodiscard]] Error execute();

  /// Starts an execution on the pool's threads and returns; execution.h has the future. Parts of
  /// the program that are independent run at the same time if it was planned for that
  /// (MemoryPlanningPass(concurrent=True)); else it is one task: docs/concurrent-execution.md.
  /// Results are those of execute(). Temporary memory is the heap's, kept until the method is
  /// destroyed. Linked with the target extension_async. The pool must outlive the execution.
  /// @retval Error::InvalidState An input is not set, or an execution has begun.
  /// Error::NotSupported The method has an event tracer. Error::InvalidProgram The program's order
  /// of tasks is damaged.
  Result<Execution> execute_async(executorch::runtime::TaskPool& pool);

  /// Runs one instruction.
  /// @retval Error::EndOfMethod There is none left; reset_execution() before anything else.
  /// Other errors as execute(): the execution has then been reset.
  [[nodiscard]] Error step();
  [[nodiscard]] Error experimental_step() { return step(); }
  /// True between the first step() and the last.
  bool in_progress() const { return next_ > 0 && next_ < block_.instructions.size(); }
  /// Returns to the start after the last step().
  /// @retval Error::InvalidState There are steps left.
  [[nodiscard]] Error reset_execution();
  [[nodiscard]] Error experimental_reset_execution() { return reset_execution(); }

  EventTracer* get_event_tracer() { return event_tracer_; }

 private:
  friend class MethodLoader;
  friend class internal::RunningTasks;

  static constexpr size_t kUsedUp = SIZE_MAX;

  Method(const Program* program, const executorch_flatbuffer::ExecutionPlan* plan,
         MemoryManager* memory_manager, EventTracer* event_tracer)
      : program_(program),
        plan_(plan),
        planned_memory_(memory_manager->planned_memory()),
        temp_allocator_(memory_manager->temp_allocator()),
        event_tracer_(event_tracer),
        block_() {}  // value initialization: cleared at once, not array by array

  const char* name() const { return method_meta().name(); }
  /// InvalidState if the method was moved from, or other threads execute it.
  Error check_usable() const;
  /// Ok if input `index` exists and may be changed now.
  Error check_input(size_t index) const;
  /// Ok if output `index` exists.
  Error check_output(size_t index) const;
  EValue& output(size_t index) const;
  /// The tensor that the program has for output `index`, even if a MoveCall has pointed the value
  /// elsewhere.
  executorch::aten::Tensor own_output(size_t index) const;
  /// Returns true if the value has `flag`: kUnaliasedInput or kUnaliasedOutput.
  bool is_unaliased(size_t value, uint8_t flag) const;
  /// Checks that apply to any memory for an output, then binds it.
  Error give_output_memory(void* buffer, size_t size, size_t output_idx);

  Error check_tensor_input(const internal::Input& input, size_t index,
                           const executorch::aten::Tensor& given) const;
  Error set_tensor_input(internal::Input& input, size_t index,
                         const executorch::aten::Tensor& given);
  Error check_constant_input(const internal::Input& input, size_t index, const EValue& given) const;

  /// Checks the state before the first instruction, unsets inputs that execution consumes, and
  /// places tensors planned parametric in shape.
  Error begin();
  /// Runs instruction next_, or all from there on.
  Error run(bool all);
  /// Runs instruction next_ and sets it to the following one.
  Error run_next(KernelRuntimeContext& context);
  /// Runs instruction *next and sets it to the following one.
  Error run_at(size_t* next, KernelRuntimeContext& context);
  /// Checks the limits before a loop's next round, at a jump from instruction next_ back to `to`.
  /// Linked only where limits are set.
  static Error check_round(Method& method, size_t to);
  Error log_used_budget(size_t instruction) const;
  Error run_next_traced(KernelRuntimeContext& context);
  void log_results(const internal::Instruction& instruction);
  /// Reports and resets temporary memory; called after each kernel or delegate.
  void release_temp(MemoryAllocator* temp_allocator);
  Error run_delegate(const internal::Instruction& instruction, MemoryAllocator* temp_allocator);
  Error check_late_memory(const internal::Instruction& instruction, size_t index) const;
  Error fail(Error error);
  /// Resets values to their state after loading: loop counters, and tensors that were
  /// moved.
  void restore_values();
  /// Takes the memory of those of the first `count` values that have all `flags`.
  void unbind_views(uint8_t flags, size_t count);
  // Linked with executions on other threads.
  void log_failure(size_t instruction, Error error);
  void end_async(Error result);

  const Program* program_;
  const executorch_flatbuffer::ExecutionPlan* plan_;
  HierarchicalAllocator* planned_memory_;
  /// Null: the platform gives temporary memory.
  MemoryAllocator* temp_allocator_;
  EventTracer* event_tracer_;
  /// The tracer's id of the temporary allocator.
  AllocatorID temp_allocator_id_ = 0;
  internal::MethodBlock block_;
  internal::ParametricPlan parametric_plan_;
  /// Numbers of delegates and external buffers made so far, which must be freed.
  size_t delegates_made_ = 0;
  size_t external_made_ = 0;
  internal::ViewFacts view_facts_ = {};
  /// The instruction to run next; the number of instructions at the end.
  size_t next_ = 0;
  struct LoopLimits {
    /// check_round(); null: there are no limits.
    Error (*check_round)(Method& method, size_t to) = nullptr;
    /// 0: no limit.
    size_t budget = 0;
    /// The rest of the budget in this execution, or kUsedUp.
    size_t left = 0;
    InterruptCheck check = nullptr;
    void* context = nullptr;
  };
  LoopLimits loop_limits_;
  /// Other threads execute the method. The last one clears it.
  std::atomic<bool> runs_elsewhere_{false};
  /// State of searches, so that a query for every index is linear in total.
  struct Cache {
    /// The first value that get_attribute() compares.
    size_t next_attribute = 0;
    /// own_output(): the first `counted_values` values have `counted_tensors` tensors.
    size_t counted_values = 0;
    size_t counted_tensors = 0;
    bool unaliased_are_marked = false;
  };
  mutable Cache cache_;
  /// Made by the first execution on other threads; null before.
  internal::AsyncState* async_state_ = nullptr;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Method;
}  // namespace torch::executor
