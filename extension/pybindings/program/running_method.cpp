// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/running_method.h>

#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/interpreter/signals.h>
#include <executorch/extension/pybindings/program/thread_pools.h>
#include <executorch/extension/threadpool/cores.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using runtime::Error;
using runtime::Result;

namespace {

/// Longest timeout that is passed to the wait: thirty years.
constexpr double kMaxSeconds = 1e9;

/// Returns `count` threads, which all methods that use as many threads share until the last of
/// these methods is gone.
std::shared_ptr<TaskThreads> threads_of_size(size_t count) {
  // The GIL protects the map, after fork() too: the child keeps only the thread that holds the GIL.
  static auto* known = new std::map<size_t, std::weak_ptr<TaskThreads>>();
  std::weak_ptr<TaskThreads>& place = (*known)[count];
  std::shared_ptr<TaskThreads> threads = place.lock();
  if (threads == nullptr || !threads->are_here()) {
    Result<std::shared_ptr<TaskThreads>> started = TaskThreads::start(count);
    if (!started.ok()) {
      raise_error(started.error(), "cannot start " + std::to_string(count) + " threads");
    }
    threads = std::move(*started);
    place = threads;
  }
  return threads;
}

}  // namespace

/// Runs tasks on the threads; error messages of these tasks go to the execution's log.
class RunningMethod::Pool final : public runtime::TaskPool, private runtime::TaskScope {
 public:
  Pool(std::shared_ptr<TaskThreads> threads, std::shared_ptr<SharedLog> log)
      : threads_(std::move(threads)), log_(std::move(log)) {}

  void post(runtime::Task& task) override { threads_->post(task, *this); }

 private:
  void run(runtime::Task& task) override {
    const LogCapture capture(log_);
    task.run();
  }

  std::shared_ptr<TaskThreads> threads_;
  std::shared_ptr<SharedLog> log_;
};

RunningMethod::RunningMethod(std::shared_ptr<LoadedMethod> method, bool clone_outputs)
    : method_(std::move(method)),
      clone_outputs_(clone_outputs),
      process_(getpid()),
      log_(std::make_shared<SharedLog>()) {}

std::shared_ptr<RunningMethod> RunningMethod::start(std::shared_ptr<LoadedMethod> method,
                                                    py::handle inputs, size_t threads,
                                                    bool clone_outputs) {
  if (threads != 0) {
    check_thread_count(static_cast<int64_t>(std::min<uint64_t>(threads, INT64_MAX)));
  }
  const size_t count = threads == 0 ? threadpool::usable_cores() : threads;
  std::shared_ptr<RunningMethod> running(new RunningMethod(std::move(method), clone_outputs));
  const std::shared_ptr<TaskThreads> pool = threads_of_size(count);
  running->method_->keep_threads(pool);
  running->pool_ = std::make_unique<Pool>(pool, running->log_);
  running->execution_.emplace(running->method_->start_async(inputs, *running->pool_));
  running->task_count_ = running->execution_->task_count();
  return running;
}

RunningMethod::~RunningMethod() {
  if (!execution_.has_value()) return;
  if (getpid() == process_) {
    end();
  } else {
    // After fork() the threads exist only in the parent: waiting for them would hang, and so would
    // freeing what they use. Leak both.
    (void)new std::optional<runtime::Execution>(std::move(execution_));
    (void)pool_.release();
  }
}

void RunningMethod::end() {
  std::optional<runtime::Execution> ended(std::move(execution_));
  execution_.reset();
  {
    const GilRelease release;
    ended.reset();
  }
  method_->end_async();
}

bool RunningMethod::done() const { return !execution_.has_value() || execution_->done(); }

void RunningMethod::cancel() {
  if (execution_.has_value()) execution_->cancel();
}

bool RunningMethod::wait(std::optional<double> timeout) {
  using std::chrono::duration;
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const double requested = timeout.value_or(kMaxSeconds);
  const double seconds = requested > 0 ? std::min(requested, kMaxSeconds) : 0;
  const auto end = steady_clock::now() +
                   std::chrono::duration_cast<steady_clock::duration>(duration<double>(seconds));
  bool has_ended = false;
  wait_with_signals([&](milliseconds period) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    const milliseconds turn = std::clamp(left, milliseconds(0), period);
    has_ended = execution_->wait_for(static_cast<uint64_t>(turn.count()));
    return has_ended || turn == left || left.count() <= 0;
  });
  return has_ended;
}

void RunningMethod::collect(std::optional<double> timeout) {
  struct Collecting {
    size_t& count;
    explicit Collecting(size_t& threads) : count(threads) { ++count; }
    ~Collecting() { --count; }
  } collecting(collecting_);
  if (!wait(timeout)) {
    PyErr_SetString(PyExc_TimeoutError, (method_->name() + "() is still running").c_str());
    throw py::error_already_set();
  }
  if (error_.has_value()) return;
  const Error error = execution_->wait();
  was_cancelled_ = execution_->was_cancelled();
  // Making outputs may run Python code, which may raise, and let other threads collect as well.
  py::object outputs;
  if (error == Error::Ok) outputs = method_->async_outputs(clone_outputs_);
  if (error_.has_value()) return;
  outputs_ = std::move(outputs);
  error_ = error;
}

py::list RunningMethod::result(std::optional<double> timeout) {
  if (execution_.has_value()) {
    if (getpid() != process_) {
      raise_error(Error::InvalidState,
                  method_->name() + "() is being executed by the process that forked this one");
    }
    collect(timeout);
    if (collecting_ == 0) end();
  }
  if (was_cancelled_) raise_cancelled(method_->name() + "() was cancelled");
  if (*error_ != Error::Ok) {
    const LogCapture capture;
    for (const std::string& line : log_->lines()) {
      LogCapture::current()->add(line.c_str(), line.size());
    }
    method_->raise_execution_error(*error_);
  }
  return outputs_;
}

void bind_running_method(py::module_& module) {
  py::class_<RunningMethod, std::shared_ptr<RunningMethod>>(
      module, "ExecuTorchExecution", py::module_local(),
      "An execution on other threads; dropping it cancels it.")
      .def("done", &RunningMethod::done)
      .def("cancel", &RunningMethod::cancel)
      .def("task_count", &RunningMethod::task_count)
      .def("result", &RunningMethod::result, py::arg("timeout") = py::none());
  module.def("_execute_async", &RunningMethod::start, py::arg("method"), py::arg("inputs"),
             py::arg("threads") = 0, py::arg("clone_outputs") = true);
}

}  // namespace executorch::extension::pybindings
