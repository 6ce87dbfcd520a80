// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <memory>
#include <optional>

#include <executorch/extension/async/execution.h>
#include <executorch/extension/async/task_threads.h>
#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/program/loaded_method.h>

namespace executorch::extension::pybindings {

/// The future of an execution on other threads. Functions need the GIL and release it to wait.
class RunningMethod final {
 public:
  /// Sets the inputs and starts. Raises InvalidStateError if another execution's result is pending,
  /// and LoadedMethod::call()'s errors for wrong inputs.
  static std::shared_ptr<RunningMethod> start(std::shared_ptr<LoadedMethod> method,
                                              pybind11::handle inputs, size_t threads,
                                              bool clone_outputs);
  ~RunningMethod();

  bool done() const;
  void cancel();
  size_t task_count() const { return task_count_; }
  /// Waits for the execution and returns its outputs. Raises the errors of LoadedMethod::call(),
  /// TimeoutError after `timeout` seconds, CancelledError if the execution was cancelled,
  /// InvalidStateError in a process that was forked after the start, and a signal handler's
  /// exception.
  pybind11::list result(std::optional<double> timeout);

 private:
  class Pool;

  RunningMethod(std::shared_ptr<LoadedMethod> method, bool clone_outputs);
  /// Waits for the end, at most `timeout` seconds; returns whether the execution ended. Throws a
  /// signal handler's exception, while the execution continues.
  bool wait(std::optional<double> timeout);
  /// Waits, and sets the error or the outputs unless another thread has.
  void collect(std::optional<double> timeout);
  /// Cancels the execution, waits for its end, and makes the method usable again.
  void end();

  std::shared_ptr<LoadedMethod> method_;
  const bool clone_outputs_;
  const pid_t process_;
  std::shared_ptr<SharedLog> log_;
  std::unique_ptr<Pool> pool_;
  std::optional<runtime::Execution> execution_;
  size_t task_count_ = 0;
  /// Number of threads in collect(); the last one ends the execution.
  size_t collecting_ = 0;
  pybind11::object outputs_;
  std::optional<runtime::Error> error_;
  bool was_cancelled_ = false;
};

/// Binds ExecuTorchExecution and _execute_async.
void bind_running_method(pybind11::module_& module);

}  // namespace executorch::extension::pybindings
