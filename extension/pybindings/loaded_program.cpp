// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/loaded_program.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/pybindings/log_capture.h>
#include <executorch/extension/pybindings/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using runtime::Program;
using runtime::Result;

std::shared_ptr<LoadedProgram> LoadedProgram::from_file(const std::string& path,
                                                        Program::Verification verification) {
  const LogCapture capture;
  Result<MmapDataLoader> loader =
      MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    raise_error(runtime::Error::AccessFailed, "cannot read the program '" + path + "'");
  }
  std::shared_ptr<LoadedProgram> program(new LoadedProgram(
      "'" + path + "'", PythonReference(), std::make_unique<MmapDataLoader>(std::move(*loader))));
  program->load(verification);
  return program;
}

std::shared_ptr<LoadedProgram> LoadedProgram::from_bytes(py::bytes bytes,
                                                         Program::Verification verification) {
  const LogCapture capture;
  const void* data = PyBytes_AS_STRING(bytes.ptr());
  const size_t size = static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()));
  std::shared_ptr<LoadedProgram> program(new LoadedProgram(
      "a buffer of " + std::to_string(size) + " bytes", PythonReference(std::move(bytes)),
      std::make_unique<BufferDataLoader>(data, size)));
  program->load(verification);
  return program;
}

void LoadedProgram::load(Program::Verification verification) {
  runtime::Error error = runtime::Error::Ok;
  {
    const py::gil_scoped_release release;
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
