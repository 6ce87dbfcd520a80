// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/async/execution.h>
#include <executorch/extension/async/task_threads.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/extension/pybindings/program/loaded_program.h>
#include <executorch/extension/pybindings/tensor/input_slot.h>
#include <executorch/extension/pybindings/tensor/output_kind.h>
#include <executorch/runtime/executor/method.h>

namespace executorch::extension::pybindings {

/// A method with the memory that it runs in. Calls from several threads take turns; while one runs,
/// the GIL is free. All functions need the GIL.
class LoadedMethod final : public std::enable_shared_from_this<LoadedMethod> {
 public:
  /// @param pool Its threads; null: those of the program.
  /// @param limits Its limits; nullopt: those of the program.
  static std::shared_ptr<LoadedMethod> load(std::shared_ptr<LoadedProgram> program,
                                            const std::string& name,
                                            std::shared_ptr<threadpool::ThreadPool> pool = nullptr,
                                            std::optional<Limits> limits = std::nullopt);
  ~LoadedMethod();

  const std::string& name() const { return name_; }
  const std::shared_ptr<LoadedProgram>& program() const { return program_; }

  /// Sets the inputs, runs, and returns the outputs. With `clone_outputs` they have memory of their
  /// own; without, tensors show the method's memory, which the next call overwrites, and keep it
  /// alive.
  pybind11::list call(pybind11::handle inputs, bool clone_outputs);

  // The same in steps. The inputs are kept alive until others are set.
  void set_inputs(pybind11::handle inputs);
  void execute();
  pybind11::list outputs(bool clone_outputs);

  /// Sets the inputs to copies of a test case's.
  void set_case_inputs(const bundled_program::TestCase& test_case);
  /// Raises InvalidArgumentError if an output of the last run is not within the tolerances of what
  /// the case expects, other errors if they cannot be compared. `place` names the case.
  void compare_outputs(const bundled_program::TestCase& test_case,
                       const bundled_program::Tolerances& tolerances, const std::string& place);

  // One execution on other threads; until end_async() every other use raises InvalidStateError.
  runtime::Execution start_async(pybind11::handle inputs, runtime::TaskPool& pool);
  pybind11::list async_outputs(bool clone_outputs) {
    return collect_outputs(clone_outputs ? Leave::Copy : Leave::Show);
  }
  /// Raises what an execution that ended with `error` is to raise.
  [[noreturn]] void raise_execution_error(runtime::Error error) const;
  /// When the execution is gone.
  void end_async();
  /// Keeps threads that executed it for further executions.
  void keep_threads(std::shared_ptr<TaskThreads> threads) { task_threads_ = std::move(threads); }

  /// The bytes of each planned buffer that an execution with the inputs set last takes.
  std::vector<size_t> planned_buffer_sizes();
  /// The most that its calls so far have taken of temporary memory, and for tensors without bound.
  size_t temp_memory_peak() const { return memory_->most_temp_bytes(); }
  size_t dynamic_memory_peak() const { return memory_->most_dynamic_bytes(); }

  /// The bytes of working memory that its delegates took.
  size_t delegate_scratch_size() const { return method_->delegate_scratch_size(); }

  /// The named tensor of the method's state, in memory that it shares with it.
  pybind11::object attribute(const std::string& name);

 private:
  class Turn;

  LoadedMethod(std::shared_ptr<LoadedProgram> program, std::string name,
               std::shared_ptr<threadpool::ThreadPool> pool)
      : program_(std::move(program)),
        name_(std::move(name)),
        turns_(program_->turns()),
        pool_(pool == nullptr ? program_->pool() : std::move(pool)) {}

  /// Describes the inputs, and gives outputs memory that the plan does not.
  void prepare(const runtime::MethodMeta& meta);
  /// `lends`: they are there until the method has run, and may be read where they are.
  void take_inputs(pybind11::handle inputs, bool lends);
  void release_inputs();
  /// Sees to it that the next run does not write to memory that was handed out. `all`: and that the
  /// memory of each large output can be.
  void lend_outputs(bool all);
  void run();
  /// How outputs leave: as copies, as the method's memory, or as what was lent for them (and
  /// otherwise as copies).
  enum class Leave { Copy, Show, HandOut };
  pybind11::list collect_outputs(Leave leave);
  pybind11::object to_python(const runtime::EValue& value, Leave leave);
  pybind11::object tensor_to_python(const executorch::aten::Tensor& tensor, Leave leave);

  std::shared_ptr<LoadedProgram> program_;
  std::string name_;
  std::shared_ptr<LoadedProgram::Turns> turns_;
  std::shared_ptr<threadpool::ThreadPool> pool_;
  std::shared_ptr<TaskThreads> task_threads_;
  std::unique_ptr<MethodMemory> memory_;
  /// For outputs whose memory is the caller's to give.
  std::vector<HeapBlock> output_blocks_;
  /// Large outputs that could as well be written elsewhere, so that nothing is copied for the
  /// caller: where they are written now, null while that is planned memory.
  struct LargeOutput {
    size_t index;
    size_t nbytes;
    std::shared_ptr<void> memory;
    /// That of the call before: who keeps a result until the next one is there, as in a loop, has
    /// done with it by then.
    std::shared_ptr<void> memory_before;
  };
  std::vector<LargeOutput> large_outputs_;
  /// Whether each input is large and could as well be read where it is.
  std::vector<bool> can_lend_;
  std::optional<runtime::Method> method_;

  std::vector<InputSlot> slots_;
  /// Instead of what the slots hold.
  bundled_program::InputMemory case_inputs_;
  bool inputs_are_set_ = false;
  bool has_run_ = false;
  bool is_elsewhere_ = false;
  OutputKind output_kind_;
};

}  // namespace executorch::extension::pybindings
