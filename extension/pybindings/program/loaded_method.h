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

/// A method with the memory that it runs in. Calls from several threads take turns and release the
/// GIL while the method runs. All functions need the GIL.
class LoadedMethod final : public std::enable_shared_from_this<LoadedMethod> {
 public:
  /// @param pool The method's threads; null for the program's.
  /// @param limits The method's limits; nullopt for the program's.
  static std::shared_ptr<LoadedMethod> load(std::shared_ptr<LoadedProgram> program,
                                            const std::string& name,
                                            std::shared_ptr<threadpool::ThreadPool> pool = nullptr,
                                            std::optional<Limits> limits = std::nullopt);
  ~LoadedMethod();

  const std::string& name() const { return name_; }
  const std::shared_ptr<LoadedProgram>& program() const { return program_; }

  /// Sets the inputs, runs, and returns the outputs. With `clone_outputs` they have memory of their
  /// own; otherwise, tensors are views that keep the method's memory alive and that the next call
  /// overwrites.
  pybind11::list call(pybind11::handle inputs, bool clone_outputs);

  // call() in steps. The inputs are kept alive until others are set.
  void set_inputs(pybind11::handle inputs);
  void execute();
  pybind11::list outputs(bool clone_outputs);

  /// Sets the inputs to copies of a test case's.
  void set_case_inputs(const bundled_program::TestCase& test_case);
  /// Raises InvalidArgumentError if an output of the last run differs from the case's expected
  /// output by more than the tolerances, other errors if they cannot be compared. `place` names the
  /// case.
  void compare_outputs(const bundled_program::TestCase& test_case,
                       const bundled_program::Tolerances& tolerances, const std::string& place);

  // One execution on other threads; until end_async() every other use raises InvalidStateError.
  runtime::Execution start_async(pybind11::handle inputs, runtime::TaskPool& pool);
  pybind11::list async_outputs(bool clone_outputs) {
    return collect_outputs(clone_outputs ? OutputMode::Copy : OutputMode::View);
  }
  /// Raises the exception for an execution that ended with `error`.
  [[noreturn]] void raise_execution_error(runtime::Error error) const;
  /// Makes the method usable again after the execution was destroyed.
  void end_async();
  /// Keeps the threads of an execution for later ones.
  void keep_threads(std::shared_ptr<TaskThreads> threads) { task_threads_ = std::move(threads); }

  /// Returns the bytes of each planned buffer that an execution with the current inputs needs.
  std::vector<size_t> planned_buffer_sizes();
  /// Peak bytes of temporary memory, and of memory for tensors without a size bound, in all calls
  /// so far.
  size_t temp_memory_peak() const { return memory_->peak_temp_bytes(); }
  size_t dynamic_memory_peak() const { return memory_->peak_dynamic_bytes(); }

  /// Bytes of working memory that its delegates allocated.
  size_t delegate_scratch_size() const { return method_->delegate_scratch_size(); }

  /// Returns a named tensor of the method's state, as a view of the method's memory.
  pybind11::object attribute(const std::string& name);

 private:
  class Turn;

  LoadedMethod(std::shared_ptr<LoadedProgram> program, std::string name,
               std::shared_ptr<threadpool::ThreadPool> pool)
      : program_(std::move(program)),
        name_(std::move(name)),
        turns_(program_->turns()),
        pool_(pool == nullptr ? program_->pool() : std::move(pool)) {}

  /// Describes the inputs, and allocates outputs that the memory plan leaves out.
  void prepare(const runtime::MethodMeta& meta);
  /// With `lends`, the inputs stay alive until the method has run, so it may read them in place.
  void take_inputs(pybind11::handle inputs, bool lends);
  void release_inputs();
  /// Raises InvalidArgumentError, and releases the inputs, if an input whose memory the method uses
  /// has other memory by now.
  void expect_same_inputs();
  /// Replaces the memory of large outputs that Python still holds, so that the next run does not
  /// overwrite it. With `all`, also moves other large outputs out of planned memory, so that Python
  /// can take them without a copy.
  void lend_outputs(bool all);
  void run();
  /// How outputs reach Python: as copies, as views of the method's memory, or by handing out the
  /// memory of large outputs (and copying the others).
  enum class OutputMode { Copy, View, Share };
  pybind11::list collect_outputs(OutputMode mode);
  pybind11::object to_python(const runtime::EValue& value, OutputMode mode);
  pybind11::object tensor_to_python(const executorch::aten::Tensor& tensor, OutputMode mode);

  std::shared_ptr<LoadedProgram> program_;
  std::string name_;
  std::shared_ptr<LoadedProgram::Turns> turns_;
  std::shared_ptr<threadpool::ThreadPool> pool_;
  std::shared_ptr<TaskThreads> task_threads_;
  std::unique_ptr<MethodMemory> memory_;
  /// Memory of outputs that the memory plan leaves out.
  std::vector<HeapBlock> output_blocks_;
  /// A large output that the method can write outside its planned memory, so that Python gets it
  /// without a copy. `memory` is null while the output is in planned memory.
  struct LargeOutput {
    size_t index;
    size_t nbytes;
    std::shared_ptr<void> memory;
    /// The previous call's memory, which is reused: a loop usually drops a result when it has the
    /// next one.
    std::shared_ptr<void> memory_before;
  };
  std::vector<LargeOutput> large_outputs_;
  /// For each input, whether it is large and the method can read it in place.
  std::vector<bool> can_bind_;
  std::optional<runtime::Method> method_;

  std::vector<InputSlot> slots_;
  /// Inputs of a test case; they replace those of the slots.
  bundled_program::InputMemory case_inputs_;
  bool inputs_are_set_ = false;
  bool has_run_ = false;
  bool is_elsewhere_ = false;
  OutputKind output_kind_;
};

}  // namespace executorch::extension::pybindings
