// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The extension module executorch.extension.pybindings._portable_lib.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/interpreter/sealed_types.h>
#include <executorch/extension/pybindings/llm/llm_runner.h>
#include <executorch/extension/pybindings/program/bundled_module.h>
#include <executorch/extension/pybindings/program/loaded_method.h>
#include <executorch/extension/pybindings/program/loaded_module.h>
#include <executorch/extension/pybindings/program/loaded_program.h>
#include <executorch/extension/pybindings/program/metadata.h>
#include <executorch/extension/pybindings/program/running_method.h>
#include <executorch/extension/pybindings/program/thread_pools.h>
#include <executorch/extension/pybindings/pybindings_data_loader.h>
#include <executorch/extension/pybindings/tensor/shared_tensor.h>
#include <executorch/extension/pybindings/unavailable.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using runtime::Error;
using Verification = runtime::Program::Verification;

using DataPath = std::optional<std::string>;
using DataBytes = std::optional<py::bytes>;

void add_data(LoadedProgram& program, const DataPath& path, const DataBytes& bytes) {
  if (path.has_value()) {
    program.add_data_file(*path);
  } else if (bytes.has_value()) {
    program.add_data_bytes(*bytes);
  }
}

std::shared_ptr<LoadedProgram> load_program(const std::string& path, bool enable_etdump,
                                            size_t debug_buffer_size, Verification verification,
                                            const DataPath& data_path, const DataBytes& data) {
  std::shared_ptr<LoadedProgram> program = LoadedProgram::from_file(path, verification);
  add_data(*program, data_path, data);
  if (enable_etdump) {
    program->record_events(debug_buffer_size);
  }
  return program;
}

std::shared_ptr<LoadedProgram> load_program_from_buffer(py::bytes buffer, bool enable_etdump,
                                                        size_t debug_buffer_size,
                                                        Verification verification,
                                                        const DataPath& data_path,
                                                        const DataBytes& data) {
  std::shared_ptr<LoadedProgram> program =
      LoadedProgram::from_bytes(std::move(buffer), verification);
  add_data(*program, data_path, data);
  if (enable_etdump) {
    program->record_events(debug_buffer_size);
  }
  return program;
}

LoadedModule load_module(const std::string& path, const DataPath& data_path, bool enable_etdump,
                         size_t debug_buffer_size, Verification verification) {
  return LoadedModule(
      load_program(path, enable_etdump, debug_buffer_size, verification, data_path, std::nullopt));
}

LoadedModule load_module_from_buffer(py::bytes buffer, const DataBytes& data, bool enable_etdump,
                                     size_t debug_buffer_size, Verification verification) {
  return LoadedModule(load_program_from_buffer(std::move(buffer), enable_etdump, debug_buffer_size,
                                               verification, std::nullopt, data));
}

LoadedModule load_module_from_bundle(const BundledModule& bundle, const DataPath& data_path,
                                     const DataBytes& data, bool enable_etdump,
                                     size_t debug_buffer_size) {
  std::shared_ptr<LoadedProgram> program = bundle.load_program();
  add_data(*program, data_path, data);
  if (enable_etdump) {
    program->record_events(debug_buffer_size);
  }
  return LoadedModule(std::move(program));
}

LoadedModule load_module_from_loader(const PyDataLoader& loader, const DataPath& data_path,
                                     bool enable_etdump, size_t debug_buffer_size) {
  if (loader.get() == nullptr) {
    raise_error(runtime::Error::InvalidArgument, "loader: a PyDataLoader without a loader");
  }
  std::shared_ptr<LoadedProgram> program = LoadedProgram::from_loader(
      loader.make_delegating_loader(), Verification::InternalConsistency);
  add_data(*program, data_path, std::nullopt);
  if (enable_etdump) {
    program->record_events(debug_buffer_size);
  }
  return LoadedModule(std::move(program));
}

py::str method_name_at(const LoadedProgram& program, size_t index) {
  const LogCapture capture;
  const auto name = program.program().get_method_name(index);
  if (!name.ok()) {
    raise_error(name.error(), "the program has no method number " + std::to_string(index));
  }
  return python_text(*name);
}

py::list run_method(LoadedModule& module, const std::string& name, const py::object& inputs,
                    bool clone_outputs) {
  return module.method(name)->call(inputs, clone_outputs);
}

py::list plan_execute(LoadedModule& module, const std::string& name, bool clone_outputs) {
  const std::shared_ptr<LoadedMethod> method = module.method(name);
  method->execute();
  return method->outputs(clone_outputs);
}

py::list names_of(const std::vector<std::string>& texts) {
  py::list names;
  for (const std::string& text : texts) {
    names.append(python_text(text));
  }
  return names;
}

py::list operator_names() {
  py::list names;
  for (size_t i = 0; i < runtime::registered_kernel_count(); ++i) {
    names.append(runtime::registered_kernel(i).name_);
  }
  return names;
}

py::list backend_names() {
  py::list names;
  for (size_t i = 0; i < runtime::get_num_registered_backends(); ++i) {
    const auto name = runtime::get_backend_name(i);
    if (!name.ok()) {
      raise_error(name.error(), "cannot read the name of backend " + std::to_string(i));
    }
    names.append(*name);
  }
  return names;
}

bool backend_is_available(const std::string& name) {
  const runtime::BackendInterface* backend = runtime::get_backend_class(name.c_str());
  return backend != nullptr && backend->is_available();
}

void bind_program(py::module_& module) {
  py::class_<LoadedProgram, std::shared_ptr<LoadedProgram>>(
      module, "ExecuTorchProgram", py::module_local(), "A verified program.")
      .def("num_methods", [](const LoadedProgram& self) { return self.program().num_methods(); })
      .def("get_method_name", method_name_at, py::arg("method_index"))
      .def("constants_size",
           [](const LoadedProgram& self) { return self.program().constants_size(); })
      .def(
          "load_method",
          [](std::shared_ptr<LoadedProgram> self, const std::string& name,
             const ThreadChoice& threads, std::optional<size_t> max_planned_bytes,
             std::optional<size_t> instruction_budget) {
            Limits limits = self->limits();
            limits.max_planned_bytes = max_planned_bytes.value_or(limits.max_planned_bytes);
            limits.instruction_budget = instruction_budget.value_or(limits.instruction_budget);
            return LoadedMethod::load(std::move(self), name, pool_of(threads), limits);
          },
          py::arg("method_name"), py::arg("threads") = py::none(),
          py::arg("max_planned_bytes") = py::none(), py::arg("instruction_budget") = py::none())
      .def(
          "set_limits",
          [](LoadedProgram& self, size_t max_planned_bytes, size_t instruction_budget) {
            self.set_limits({max_planned_bytes, instruction_budget});
          },
          py::arg("max_planned_bytes"), py::arg("instruction_budget"))
      .def("use_backend_options", &LoadedProgram::use_backend_options, py::arg("options"))
      .def("use_threads", [](LoadedProgram& self,
                             const ThreadChoice& threads) { self.use_threads(pool_of(threads)); })
      .def("share_memory_arenas", &LoadedProgram::share_arenas)
      .def("method_meta", describe_method, py::arg("method_name"))
      .def("has_etdump", &LoadedProgram::records_events)
      .def("write_etdump_result_to_file", &LoadedProgram::write_events, py::arg("path"),
           py::arg("debug_buffer_path") = py::none());
}

void bind_method(py::module_& module) {
  py::class_<LoadedMethod, std::shared_ptr<LoadedMethod>>(
      module, "ExecuTorchMethod", py::module_local(),
      "A method ready to run. Threads that use one method take turns; different methods run at "
      "once.")
      .def("__call__", &LoadedMethod::call, py::arg("inputs") = py::tuple(),
           py::arg("clone_outputs") = true)
      .def("call", &LoadedMethod::call, py::arg("inputs") = py::tuple(),
           py::arg("clone_outputs") = true)
      .def("set_inputs", &LoadedMethod::set_inputs, py::arg("inputs"))
      .def("execute", &LoadedMethod::execute)
      .def("get_outputs", &LoadedMethod::outputs, py::arg("clone_outputs") = true)
      .def("get_attribute", &LoadedMethod::attribute, py::arg("name"))
      .def("memory_planned_buffer_sizes", &LoadedMethod::planned_buffer_sizes)
      .def("delegate_scratch_size", &LoadedMethod::delegate_scratch_size)
      .def("temp_memory_peak", &LoadedMethod::temp_memory_peak)
      .def("dynamic_memory_peak", &LoadedMethod::dynamic_memory_peak)
      .def("method_meta",
           [](const LoadedMethod& self) { return describe_method(self.program(), self.name()); });
}

void bind_module(py::module_& module) {
  const auto forward = [](LoadedModule& self, const py::object& inputs, bool clone_outputs) {
    return run_method(self, "forward", inputs, clone_outputs);
  };
  py::class_<LoadedModule>(module, "ExecuTorchModule", py::module_local(),
                           "A program whose methods are loaded when they are first called.")
      .def("__call__", forward, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true)
      .def("forward", forward, py::arg("inputs") = py::tuple(), py::arg("clone_outputs") = true)
      .def("run_method", run_method, py::arg("method_name"), py::arg("inputs") = py::tuple(),
           py::arg("clone_outputs") = true)
      .def("plan_execute", plan_execute, py::arg("method_name"), py::arg("clone_outputs") = true)
      .def(
          "method_meta",
          [](const LoadedModule& self, const std::string& name) {
            return describe_method(self.program(), name);
          },
          py::arg("method_name"))
      .def("method_names",
           [](const LoadedModule& self) { return names_of(self.program()->method_names()); })
      .def("load_bundled_input", load_bundled_input, py::arg("bundle"), py::arg("method_name"),
           py::arg("testset_idx"))
      .def("verify_result_with_bundled_expected_output", verify_bundled_case, py::arg("bundle"),
           py::arg("method_name"), py::arg("testset_idx"), py::arg("rtol") = 1e-5,
           py::arg("atol") = 1e-8)
      .def("has_etdump", [](const LoadedModule& self) { return self.program()->records_events(); })
      .def(
          "write_etdump_result_to_file",
          [](const LoadedModule& self, const std::string& path, const DataPath& debug_path) {
            self.program()->write_events(path, debug_path);
          },
          py::arg("path"), py::arg("debug_buffer_path") = py::none());
}

void bind_loading(py::module_& module) {
  const auto etdump = py::arg("enable_etdump") = false;
  const auto debug_buffer = py::arg("debug_buffer_size") = 0;
  const auto data_path = py::arg("data_path") = py::none();
  const auto data = py::arg("data_map_buffer") = py::none();
  module.def("_load_program", load_program, py::arg("path"), etdump, debug_buffer,
             py::arg("program_verification") = Verification::Minimal, data_path, data);
  module.def("_load_program_from_buffer", load_program_from_buffer, py::arg("buffer"), etdump,
             debug_buffer, py::arg("program_verification") = Verification::Minimal, data_path,
             data);
  module.def("_load_for_executorch", load_module, py::arg("program_path"), data_path, etdump,
             debug_buffer, py::arg("program_verification") = Verification::InternalConsistency);
  module.def("_load_for_executorch_from_buffer", load_module_from_buffer, py::arg("buffer"), data,
             etdump, debug_buffer,
             py::arg("program_verification") = Verification::InternalConsistency);
  const auto from_bundle_and_bytes = [](const BundledModule& bundle, const DataBytes& bytes,
                                        bool enable_etdump, size_t debug_buffer_size) {
    return load_module_from_bundle(bundle, std::nullopt, bytes, enable_etdump, debug_buffer_size);
  };
  const auto from_bundle_and_file = [](const BundledModule& bundle, const std::string& path,
                                       bool enable_etdump, size_t debug_buffer_size) {
    return load_module_from_bundle(bundle, path, std::nullopt, enable_etdump, debug_buffer_size);
  };
  module.def("_load_for_executorch_from_bundled_program", from_bundle_and_bytes, py::arg("module"),
             data, etdump, debug_buffer);
  module.def("_load_for_executorch_from_bundled_program", from_bundle_and_file, py::arg("module"),
             py::arg("data_path"), etdump, debug_buffer);
  module.def("_load_for_executorch_from_data_loader", load_module_from_loader, py::arg("loader"),
             data_path, etdump, debug_buffer);
  // The pool's size is a documented argument; this runtime has no such pool.
  const auto load_bundle = [](py::bytes buffer, size_t) {
    return BundledModule(std::move(buffer));
  };
  module.def("_load_bundled_program_from_buffer", load_bundle, py::arg("buffer"),
             py::arg("non_const_pool_size") = 0);
}

}  // namespace
}  // namespace executorch::extension::pybindings

// The same sources make one module for portable tensors and one for at::Tensor.
#ifdef USE_ATEN_LIB
PYBIND11_MODULE(_aten_lib, module) {
#else
PYBIND11_MODULE(_portable_lib, module) {
#endif
  using namespace executorch::extension::pybindings;
  executorch::runtime::runtime_init();
  install_log_sink();
  py::enum_<Verification>(module, "Verification", py::module_local(),
                          "How much of a program is checked: always everything.")
      .value("Minimal", Verification::Minimal)
      .value("InternalConsistency", Verification::InternalConsistency)
      // pickle's default creates an object without a value first, which seal_types() forbids.
      .def("__reduce__", [](const py::object& self) {
        return py::make_tuple(py::type::of(self), py::make_tuple(py::int_(self)));
      });
  bind_metadata(module);
  bind_shared_tensor(module);
  bind_thread_pools(module);
  bind_method(module);
  bind_running_method(module);
  bind_program(module);
  bind_bundled_module(module);
  bind_module(module);
#ifndef USE_ATEN_LIB
  // Not local: modules of users make its objects.
  py::class_<PyDataLoader, std::shared_ptr<PyDataLoader>>(
      module, "PyDataLoader", "A data loader that a C++ module of a user made.");
#endif
  bind_loading(module);
#ifndef USE_ATEN_LIB
  bind_llm_runner(module);
#endif
  bind_unavailable(module);
  seal_types(module);
  module.def("_default_max_planned_bytes", executorch::extension::default_max_planned_bytes);
  module.def("_get_operator_names", operator_names);
  module.def("_get_registered_backend_names", backend_names);
  module.def("_set_backend_options", set_backend_options, py::arg("backend_name"),
             py::arg("options"));
  module.def("_is_available", backend_is_available, py::arg("backend_name"));
}
