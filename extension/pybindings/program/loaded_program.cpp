// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/loaded_program.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/interpreter/signals.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using runtime::Program;
using runtime::Result;

namespace {

std::unique_ptr<runtime::DataLoader> map_file(const std::string& path, const char* what) {
  expect_path(path);
  Result<MmapDataLoader> loader =
      MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    raise_error(runtime::Error::AccessFailed,
                std::string("cannot read the ") + what + " '" + path + "'");
  }
  return std::make_unique<MmapDataLoader>(std::move(*loader));
}

std::unique_ptr<runtime::DataLoader> show_bytes(const py::bytes& bytes) {
  return std::make_unique<BufferDataLoader>(PyBytes_AS_STRING(bytes.ptr()),
                                            static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

std::string describe(const py::bytes& bytes) {
  return "a buffer of " + std::to_string(PyBytes_GET_SIZE(bytes.ptr())) + " bytes";
}

}  // namespace

std::shared_ptr<LoadedProgram> LoadedProgram::from_file(const std::string& path,
                                                        Program::Verification verification) {
  const LogCapture capture;
  std::shared_ptr<LoadedProgram> program(
      new LoadedProgram("'" + path + "'", PythonReference(), map_file(path, "program")));
  program->load(verification);
  return program;
}

std::shared_ptr<LoadedProgram> LoadedProgram::from_bytes(py::bytes bytes,
                                                         Program::Verification verification) {
  const auto* begin = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.ptr()));
  const auto size = static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()));
  std::string source = describe(bytes);
  return from_memory(std::move(bytes), {begin, size}, std::move(source), verification);
}

std::shared_ptr<LoadedProgram> LoadedProgram::from_memory(py::object owner,
                                                          runtime::Span<const uint8_t> bytes,
                                                          std::string source,
                                                          Program::Verification verification) {
  const LogCapture capture;
  std::shared_ptr<LoadedProgram> program(
      new LoadedProgram(std::move(source), PythonReference(std::move(owner)),
                        std::make_unique<BufferDataLoader>(bytes.data(), bytes.size())));
  program->load(verification);
  return program;
}

std::shared_ptr<LoadedProgram> LoadedProgram::from_loader(
    std::unique_ptr<runtime::DataLoader> loader, Program::Verification verification) {
  const LogCapture capture;
  std::shared_ptr<LoadedProgram> program(
      new LoadedProgram("a data loader", PythonReference(), std::move(loader)));
  program->load(verification);
  return program;
}

void LoadedProgram::add_data_file(const std::string& path) {
  const LogCapture capture;
  load_data(map_file(path, "data file"), "'" + path + "'");
}

void LoadedProgram::add_data_bytes(py::bytes bytes) {
  const LogCapture capture;
  const std::string source = describe(bytes);
  std::unique_ptr<runtime::DataLoader> loader = show_bytes(bytes);
  data_memory_ = PythonReference(std::move(bytes));
  load_data(std::move(loader), source);
}

void LoadedProgram::load_data(std::unique_ptr<runtime::DataLoader> loader,
                              const std::string& source) {
  std::vector<std::unique_ptr<runtime::DataLoader>> loaders;
  loaders.push_back(std::move(loader));
  Result<std::unique_ptr<DataFiles>> data = DataFiles::load(std::move(loaders));
  if (!data.ok()) {
    raise_error(data.error(), "cannot load the data file from " + source);
  }
  data_ = std::move(*data);
}

void LoadedProgram::load(Program::Verification verification) {
  runtime::Error error = runtime::Error::Ok;
  {
    const GilRelease release;
    Result<Program> program = Program::load(loader_.get(), verification);
    error = program.error();
    if (program.ok()) {
      program_.emplace(std::move(*program));
    }
  }
  if (error != runtime::Error::Ok) {
    raise_error(error, "cannot load the program from " + source_);
  }
}

void LoadedProgram::share_arenas() {
  if (arenas_.has_value()) {
    return;
  }
  const LogCapture capture;
  runtime::Result<SharedArenas> arenas =
      SharedArenas::allocate(*program_, limits_.max_planned_bytes);
  if (!arenas.ok()) {
    raise_error(arenas.error(), "methods of the program from " + source_ + " cannot share arenas");
  }
  arenas_.emplace(std::move(*arenas));
  if (shared_turns_ == nullptr) {
    shared_turns_ = std::make_shared<Turns>();
  }
}

void LoadedProgram::record_events(size_t debug_buffer_size) {
  events_ = std::make_unique<EventRecord>(debug_buffer_size);
  shared_turns_ = std::make_shared<Turns>();
}

void LoadedProgram::write_events(const std::string& path,
                                 const std::optional<std::string>& debug_buffer_path) {
  if (events_ == nullptr) {
    raise_error(runtime::Error::InvalidState,
                "write_etdump_result_to_file(): no events are recorded; load the program with "
                "enable_etdump=True");
  }
  lock_with_signals(shared_turns_->mutex);
  const std::unique_lock<Turns::Mutex> turn(shared_turns_->mutex, std::adopt_lock);
  events_->write(path, debug_buffer_path);
}

std::vector<std::string> LoadedProgram::method_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < program_->num_methods(); ++i) {
    const Result<const char*> name = program_->get_method_name(i);
    if (!name.ok()) {
      raise_error(name.error(), "cannot read the name of method " + std::to_string(i));
    }
    names.emplace_back(*name);
  }
  return names;
}

runtime::MethodMeta LoadedProgram::method_meta(const std::string& method) const {
  const LogCapture capture;
  std::string known;
  for (const std::string& name : method_names()) {
    if (name == method) {
      Result<runtime::MethodMeta> meta = program_->method_meta(method.c_str());
      if (!meta.ok()) {
        raise_error(meta.error(), "cannot describe the method '" + method + "'");
      }
      return *meta;
    }
    known += (known.empty() ? "'" : ", '") + name + "'";
  }
  raise_method_not_found("no method '" + method + "' in the program from " + source_ + "; it has " +
                         (known.empty() ? "none" : known));
}

}  // namespace executorch::extension::pybindings
