// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/loaded_method.h>

#include <atomic>
#include <sstream>
#include <utility>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/interpreter/signals.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Tag;

namespace {

// Below this size, copying is faster than allocating (bytes).
constexpr size_t kMinLentBytes = size_t{64} << 10;
// The check whether an input or output is unaliased walks the whole method, so the number of checks
// is limited to keep loading fast.
constexpr size_t kMaxQueries = 64;

}  // namespace

/// Exclusive use of a method by one thread. The wait for it does not hold the GIL, because the
/// owner may wait for the GIL.
class LoadedMethod::Turn final {
 public:
  explicit Turn(LoadedMethod& method) : method_(method) {
    if (method.turns_->running_in.load() == std::this_thread::get_id()) {
      raise_error(Error::InvalidState,
                  method.name_ +
                      "(), or a method that shares its memory, is running in this thread "
                      "already (called back from Python)");
    }
    lock_with_signals(method.turns_->mutex);
    method.turns_->running_in.store(std::this_thread::get_id());
    if (method.is_elsewhere_) {
      release();
      raise_error(
          Error::InvalidState,
          method.name_ + "() is being executed by execute_async(): take its result() first");
    }
  }
  ~Turn() { release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  void release() {
    method_.turns_->running_in.store(std::thread::id());
    method_.turns_->mutex.unlock();
  }

  LoadedMethod& method_;
  const LogCapture capture_;
};

std::shared_ptr<LoadedMethod> LoadedMethod::load(std::shared_ptr<LoadedProgram> program,
                                                 const std::string& name,
                                                 std::shared_ptr<threadpool::ThreadPool> pool,
                                                 std::optional<Limits> limits) {
  const LogCapture capture;
  const runtime::MethodMeta meta = program->method_meta(name);
  const Limits its_limits = limits.value_or(program->limits());
  std::shared_ptr<LoadedMethod> method(new LoadedMethod(std::move(program), name, std::move(pool)));
  Error error = Error::Ok;
  std::unique_lock<LoadedProgram::Turns::Mutex> turn;
  if (method->program_->records_events()) {
    lock_with_signals(method->turns_->mutex);
    turn = {method->turns_->mutex, std::adopt_lock};
  }
  MethodMemory::Given given;
  given.arenas = method->program_->arenas();
  given.max_planned_bytes = its_limits.max_planned_bytes;
  const std::shared_ptr<const BackendChoices> choices = method->program_->backend_choices();
  {
    const GilRelease release;
    const threadpool::ThreadPoolScope scope(method->pool_.get());
    Result<std::unique_ptr<MethodMemory>> memory = MethodMemory::allocate(meta, given);
    error = memory.error();
    if (memory.ok()) {
      method->memory_ = std::move(*memory);
      Result<runtime::Method> loaded = method->program_->program().load_method(
          name.c_str(), method->memory_->manager(), method->program_->tracer(),
          method->program_->data_map(), choices->map());
      error = loaded.error();
      if (loaded.ok()) {
        method->method_.emplace(std::move(*loaded));
        method->method_->set_instruction_budget(its_limits.instruction_budget);
      }
    }
  }
  if (error != Error::Ok) {
    raise_error(error, "cannot load the method '" + name + "' of the program from " +
                           method->program_->source());
  }
  // Another thread's look-up may have led to another method of the same name meanwhile.
  method->prepare(method->method_->method_meta());
  return method;
}

LoadedMethod::~LoadedMethod() {
  // The last owner may be a tensor over the method's memory, in a thread without the GIL.
  if (Py_IsInitialized() != 0) {
    const GilHold gil;
    slots_.clear();
    output_kind_ = OutputKind();
  }
}

void LoadedMethod::prepare(const runtime::MethodMeta& meta) {
  size_t queries = 0;
  slots_.reserve(meta.num_inputs());
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    slots_.emplace_back(meta, i, method_->get_input(i));
    const Result<Tag> tag = meta.input_tag(i);
    const bool is_large =
        tag.ok() && *tag == Tag::Tensor && meta.input_tensor_meta(i)->nbytes() >= kMinLentBytes;
    can_bind_.push_back(is_large && queries++ < kMaxQueries && method_->is_input_unaliased(i));
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const Result<Tag> tag = meta.output_tag(i);
    if (!tag.ok() || *tag != Tag::Tensor) {
      continue;
    }
    const Result<runtime::TensorInfo> info = meta.output_tensor_meta(i);
    if (info.ok() && info->nbytes() >= kMinLentBytes && queries++ < kMaxQueries &&
        method_->is_output_unaliased(i)) {
      large_outputs_.push_back({i, info->nbytes(), nullptr, nullptr});
    }
    if (!info.ok() || info->is_memory_planned()) {
      continue;
    }
    Result<HeapBlock> block = HeapBlock::allocate(info->nbytes());
    Error error = block.error();
    if (block.ok()) {
      error = method_->set_output_data_ptr(block->bytes().data(), info->nbytes(), i);
      output_blocks_.push_back(std::move(*block));
    }
    if (error != Error::Ok) {
      raise_error(error, name_ + "(): no memory of " + std::to_string(info->nbytes()) +
                             " bytes for output " + std::to_string(i));
    }
  }
}

py::list LoadedMethod::call(py::handle inputs, bool clone_outputs) {
  const Turn turn(*this);
  struct ReleaseInputs {
    LoadedMethod& method;
    ~ReleaseInputs() { method.release_inputs(); }
  } release{*this};
  take_inputs(inputs, /*lends=*/true);
  lend_outputs(/*all=*/clone_outputs);
  run();
  return collect_outputs(clone_outputs ? OutputMode::Share : OutputMode::View);
}

void LoadedMethod::lend_outputs(bool all) {
  for (LargeOutput& output : large_outputs_) {
    const bool is_shared = output.memory.use_count() > 1;
    if (!is_shared && (output.memory != nullptr || !all)) {
      // The last reader has finished: order its reads before the next run's writes.
      std::atomic_thread_fence(std::memory_order_acquire);
      continue;
    }
    std::shared_ptr<void> memory = std::move(output.memory_before);
    if (memory.use_count() == 1) {
      std::atomic_thread_fence(std::memory_order_acquire);
    } else {
      memory = output_memory(output.nbytes);
    }
    const Error error = method_->replace_output_data_ptr(memory.get(), output.nbytes, output.index);
    if (error != Error::Ok) {
      raise_error(error, name_ + "(): output " + std::to_string(output.index) +
                             " cannot be written to memory of its own");
    }
    output.memory_before = std::exchange(output.memory, std::move(memory));
  }
}

void LoadedMethod::set_inputs(py::handle inputs) {
  const Turn turn(*this);
  take_inputs(inputs, /*lends=*/false);
}

void LoadedMethod::execute() {
  const Turn turn(*this);
  expect_same_inputs();
  run();
}

py::list LoadedMethod::outputs(bool clone_outputs) {
  const Turn turn(*this);
  if (!has_run_) {
    raise_error(Error::InvalidState, name_ + "() must run before its outputs can be read");
  }
  return collect_outputs(clone_outputs ? OutputMode::Copy : OutputMode::View);
}

runtime::Execution LoadedMethod::start_async(py::handle inputs, runtime::TaskPool& pool) {
  const Turn turn(*this);
  if (program_->arenas() != nullptr) {
    raise_error(Error::NotSupported,
                name_ + "(): a method whose arenas others share is executed by the calling thread");
  }
  take_inputs(inputs, /*lends=*/false);
  lend_outputs(/*all=*/false);
  runtime::Result<runtime::Execution> execution = method_->execute_async(pool);
  if (!execution.ok()) {
    release_inputs();
    raise_error(execution.error(), name_ + "() cannot be executed on other threads");
  }
  is_elsewhere_ = true;
  return std::move(*execution);
}

void LoadedMethod::end_async() {
  release_inputs();
  is_elsewhere_ = false;
}

std::vector<size_t> LoadedMethod::planned_buffer_sizes() {
  const Turn turn(*this);
  std::vector<size_t> sizes(method_->method_meta().num_memory_planned_buffers());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Result<size_t> size = method_->memory_planned_buffer_size(i);
    if (!size.ok()) {
      raise_error(size.error(), name_ + "(): no plan for inputs of these sizes");
    }
    sizes[i] = *size;
  }
  return sizes;
}

void LoadedMethod::set_case_inputs(const bundled_program::TestCase& test_case) {
  const Turn turn(*this);
  release_inputs();
  output_kind_ = OutputKind();
  Result<bundled_program::InputMemory> inputs = bundled_program::set_inputs(*method_, test_case);
  if (!inputs.ok()) {
    raise_error(inputs.error(), name_ + "(): the test case's inputs do not fit");
  }
  case_inputs_ = std::move(*inputs);
  inputs_are_set_ = true;
}

void LoadedMethod::compare_outputs(const bundled_program::TestCase& test_case,
                                   const bundled_program::Tolerances& tolerances,
                                   const std::string& place) {
  const Turn turn(*this);
  const Result<bundled_program::OutputError> error =
      bundled_program::output_error(*method_, test_case, tolerances);
  if (!error.ok()) {
    raise_error(error.error(), place + ": cannot compare the outputs with the expected ones");
  }
  if (error->beyond != 0) {
    std::ostringstream text;
    text << place << ": " << error->beyond << " of " << error->count
         << " values differ from the expected ones by more than " << tolerances.absolute << " + "
         << tolerances.relative << " * |expected|; the largest error is " << error->max_absolute;
    raise_error(Error::InvalidArgument, text.str());
  }
}

void LoadedMethod::release_inputs() {
  inputs_are_set_ = false;
  // Outputs and attributes may show the inputs' memory.
  if (method_.has_value() && method_->release_inputs() != Error::Ok) {
    has_run_ = false;
  }
  case_inputs_.reset();
  for (InputSlot& slot : slots_) {
    slot.release();
  }
}

void LoadedMethod::take_inputs(py::handle inputs, bool lends) {
  release_inputs();
  output_kind_ = OutputKind();
  // A single tensor is the same as a sequence of that tensor.
  const bool is_tensor = tensor_type(Py_TYPE(inputs.ptr())).access != TensorAccess::None;
  const py::object sequence =
      is_tensor ? py::object(py::make_tuple(inputs))
                : py::reinterpret_steal<py::object>(PySequence_Fast(inputs.ptr(), "inputs"));
  if (!sequence && PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
    throw py::error_already_set();  // of an iterator
  }
  if (!sequence || PyUnicode_Check(inputs.ptr())) {
    PyErr_Clear();
    raise_error(Error::InvalidType, name_ + "(): expected a list or tuple of inputs, found " +
                                        Py_TYPE(inputs.ptr())->tp_name);
  }
  const size_t count = static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
  if (count != slots_.size()) {
    raise_error(Error::InvalidArgument, name_ + "(): expected " + std::to_string(slots_.size()) +
                                            " inputs, found " + std::to_string(count));
  }
  bool runs_code = false;
  for (size_t i = 0; i < count; ++i) {
    const ArgumentPlace place{name_, i};
    // Reading an input may run Python code, which may change a list.
    if (PySequence_Fast_GET_SIZE(sequence.ptr()) != static_cast<ssize_t>(count)) {
      raise_error(Error::InvalidArgument, name_ + "(): the list of inputs changed meanwhile");
    }
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.ptr(), static_cast<ssize_t>(i));
    InputSlot& slot = slots_[i];
    const runtime::EValue value = slot.read(item, place, output_kind_, lends && can_bind_[i]);
    runs_code = runs_code || slot.may_have_run_code();
    const Error error =
        slot.is_lent_planned() ? method_->bind_input_data(value, i) : method_->set_input(value, i);
    if (error != Error::Ok) {
      raise_error(error,
                  place.text() + ": expected " + slot.expected() + ", found " + slot.found());
    }
  }
  inputs_are_set_ = true;
  if (runs_code) {
    expect_same_inputs();
  }
}

void LoadedMethod::expect_same_inputs() {
  try {
    for (size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].expect_same_memory({name_, i});
    }
  } catch (...) {
    release_inputs();
    throw;
  }
}

void LoadedMethod::run() {
  if (!inputs_are_set_ && !slots_.empty()) {
    raise_error(Error::InvalidState, name_ + "(): the inputs are not set");
  }
  lend_outputs(/*all=*/false);
  Error error = Error::Ok;
  {
    const GilRelease released;
    SignalCheck signals(released);
    method_->set_interrupt_check(
        [](void* check) { return static_cast<SignalCheck*>(check)->interrupts(); }, &signals);
    const threadpool::ThreadPoolScope scope(pool_.get());
    error = method_->execute();
    method_->set_interrupt_check(nullptr, nullptr);
  }
  has_run_ = error == Error::Ok;
  if (!has_run_ && PyErr_Occurred() != nullptr) {
    LogCapture::take();  // the exception says it
    throw py::error_already_set();
  }
  if (!has_run_) {
    raise_execution_error(error);
  }
}

void LoadedMethod::raise_execution_error(Error error) const {
  if (method_->instruction_budget_is_used_up()) {
    raise_budget_used_up(name_ + "() runs longer than its instruction budget allows");
  }
  raise_error(error, name_ + "() failed");
}

py::object LoadedMethod::attribute(const std::string& name) {
  const Turn turn(*this);
  const Result<executorch::aten::Tensor> tensor = method_->get_attribute(name);
  if (!tensor.ok()) {
    raise_error(tensor.error(), name_ + "() has no attribute '" + name + "'");
  }
  return tensor_to_python(*tensor, OutputMode::View);
}

}  // namespace executorch::extension::pybindings
