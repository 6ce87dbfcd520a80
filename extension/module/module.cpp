// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/module.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/threadpool_guard.h>

namespace executorch::extension {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

/// A program and its data sources; a shared pointer to the program owns both.
struct OwnedProgram {
  OwnedProgram(std::unique_ptr<runtime::DataLoader>&& its_loader, Program&& loaded)
      : loader(std::move(its_loader)), program(std::move(loaded)) {}

  std::unique_ptr<runtime::DataLoader> loader;
  Program program;
};

template <typename Loader>
Result<std::unique_ptr<runtime::DataLoader>> on_heap(Result<Loader> loader) {
  if (!loader.ok()) {
    return loader.error();
  }
  std::unique_ptr<runtime::DataLoader> moved(new (std::nothrow) Loader(std::move(*loader)));
  ET_CHECK_OR_RETURN_ERROR(moved != nullptr, MemoryAllocationFailed, "no memory for a data loader");
  return moved;
}

Result<std::unique_ptr<runtime::DataLoader>> open(const char* path, Module::LoadMode mode) {
  using Mlock = MmapDataLoader::MlockConfig;
  switch (mode) {
    case Module::LoadMode::File:
      return on_heap(FileDataLoader::from(path));
    case Module::LoadMode::Mmap:
      return on_heap(MmapDataLoader::from(path, Mlock::NoMlock));
    case Module::LoadMode::MmapUseMlock:
      return on_heap(MmapDataLoader::from(path, Mlock::UseMlock));
    case Module::LoadMode::MmapUseMlockIgnoreErrors:
      return on_heap(MmapDataLoader::from(path, Mlock::UseMlockIgnoreErrors));
    case Module::LoadMode::MmapUseMadvise:
      return on_heap(MmapDataLoader::from(path, Mlock::UseMadvise));
  }
  return Error::InvalidArgument;
}

Result<std::vector<EValue>> outputs_of(const Method& method) {
  return or_no_memory("a list of outputs", [&]() -> Result<std::vector<EValue>> {
    std::vector<EValue> outputs;
    outputs.reserve(method.outputs_size());
    for (size_t i = 0; i < method.outputs_size(); ++i) {
      outputs.push_back(method.get_output(i));
    }
    return outputs;
  });
}

Result<EValue> first_of(Result<std::vector<EValue>> outputs) {
  if (!outputs.ok()) {
    return outputs.error();
  }
  ET_CHECK_OR_RETURN_ERROR(!outputs->empty(), InvalidArgument, "the method returns nothing");
  return outputs->front();
}

}  // namespace

Module::Module(std::string file_path, LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : file_path_(std::move(file_path)),
      load_mode_(load_mode),
      event_tracer_(std::move(event_tracer)),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      share_memory_arenas_(share_memory_arenas) {}

Module::Module(std::string file_path, std::vector<std::string> data_files, LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(std::move(file_path), load_mode, std::move(event_tracer), std::move(memory_allocator),
             std::move(temp_allocator), share_memory_arenas) {
  data_paths_ = std::move(data_files);
}

Module::Module(std::string file_path, std::string data_map_path, LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(std::move(file_path), std::vector<std::string>{std::move(data_map_path)}, load_mode,
             std::move(event_tracer), std::move(memory_allocator), std::move(temp_allocator),
             share_memory_arenas) {}

Module::Module(std::unique_ptr<runtime::DataLoader> data_loader,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
               std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<runtime::DataLoader> data_map_loader, bool share_memory_arenas)
    : data_loader_(std::move(data_loader)),
      event_tracer_(std::move(event_tracer)),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      share_memory_arenas_(share_memory_arenas) {
  if (data_map_loader != nullptr) {
    data_map_loaders_.push_back(std::move(data_map_loader));
  }
}

Module::Module(std::shared_ptr<Program> program,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
               std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<runtime::DataLoader> data_map_loader, bool share_memory_arenas)
    : Module(std::unique_ptr<runtime::DataLoader>(), std::move(memory_allocator),
             std::move(temp_allocator), std::move(event_tracer), std::move(data_map_loader),
             share_memory_arenas) {
  program_ = std::move(program);
}

Error Module::load_program(Program::Verification verification) {
  if (program_ != nullptr) {
    return load_data_files();
  }
  if (data_loader_ == nullptr) {
    data_loader_ = ET_UNWRAP(open(file_path_.c_str(), load_mode_));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(load_data_files());
  Program program = ET_UNWRAP(Program::load(data_loader_.get(), verification));
  return or_no_memory("a program", [&] {
    const auto owned = std::make_shared<OwnedProgram>(std::move(data_loader_), std::move(program));
    program_ = std::shared_ptr<Program>(owned, &owned->program);
    return Error::Ok;
  });
}

Error Module::load_data_files() {
  if (data_files_ != nullptr || (data_paths_.empty() && data_map_loaders_.empty())) {
    return Error::Ok;
  }
  // Files that a failing call opened stay available for the next call.
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("data files", [&] {
    data_map_loaders_.reserve(data_paths_.size());
    return Error::Ok;
  }));
  for (size_t i = data_map_loaders_.size(); i < data_paths_.size(); ++i) {
    data_map_loaders_.push_back(ET_UNWRAP(open(data_paths_[i].c_str(), load_mode_)));
  }
  data_files_ = ET_UNWRAP(DataFiles::load(std::move(data_map_loaders_)));
  return Error::Ok;
}

Result<size_t> Module::num_methods() {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return program_->num_methods();
}

Result<std::unordered_set<std::string>> Module::method_names() {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  using Names = std::unordered_set<std::string>;
  return or_no_memory("the names of methods", [&]() -> Result<Names> {
    Names names;
    for (size_t i = 0; i < program_->num_methods(); ++i) {
      names.emplace(ET_UNWRAP(program_->get_method_name(i)));
    }
    return names;
  });
}

Error Module::load_with(const std::string& method_name, LoadOptions options) {
  if (is_method_loaded(method_name)) {
    return Error::Ok;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  if (share_memory_arenas_ && !arenas_.has_value()) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_sharing(options.backend_options));
    if (is_method_loaded(method_name) && options.planned_memory == nullptr &&
        options.event_tracer == nullptr && options.thread_pool == nullptr &&
        options.kernels.empty()) {
      return Error::Ok;
    }
    unload_method(method_name);
  }
  return load_one(method_name, std::move(options));
}

Error Module::share_memory_arenas() {
  ET_CHECK_OR_RETURN_ERROR(share_memory_arenas_ || methods_.empty(), InvalidState,
                           "share_memory_arenas(): a method is loaded already");
  share_memory_arenas_ = true;
  return Error::Ok;
}

Error Module::load_sharing(const runtime::LoadBackendOptionsMap* backend_options) {
  arenas_.emplace(ET_UNWRAP(SharedArenas::allocate(*program_, max_planned_bytes_)));
  for (const std::string& name : ET_UNWRAP(method_names())) {
    const Error error = load_one(name, {nullptr, nullptr, backend_options, nullptr, {}});
    if (error != Error::Ok) {
      methods_.clear();
      arenas_.reset();
      return error;
    }
  }
  return Error::Ok;
}

Error Module::load_one(const std::string& method_name, LoadOptions options) {
  if (options.thread_pool == nullptr) {
    options.thread_pool = thread_pool_;
  }
  const threadpool::ThreadPoolScope scope(options.thread_pool.get());
  const MethodMeta meta = ET_UNWRAP(method_meta(method_name));
  std::unique_ptr<MethodMemory> memory = ET_UNWRAP(MethodMemory::allocate(
      meta, {options.planned_memory, memory_allocator_.get(), temp_allocator_.get(),
             arenas_.has_value() ? &*arenas_ : nullptr, nullptr, max_planned_bytes_}));
  Method method = ET_UNWRAP(program_->load_method(
      method_name.c_str(), memory->manager(),
      options.event_tracer != nullptr ? options.event_tracer : event_tracer_.get(),
      data_files_ == nullptr ? nullptr : data_files_->map(),
      options.backend_options != nullptr ? options.backend_options : backend_options_,
      {options.kernels.data(), options.kernels.size()}));
  method.set_instruction_budget(instruction_budget_);
  return or_no_memory("a method", [&] {
    methods_.emplace(method_name, LoadedMethod{std::move(memory), std::move(options.thread_pool),
                                               std::move(options.kernels), std::move(method)});
    return Error::Ok;
  });
}

bool Module::unload_method(const std::string& method_name) {
  return methods_.erase(method_name) != 0;
}

bool Module::is_method_loaded(const std::string& method_name) const {
  return methods_.find(method_name) != methods_.end();
}

Result<Module::LoadedMethod*> Module::loaded(const std::string& method_name) {
  auto found = methods_.find(method_name);
  if (found == methods_.end()) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_method(method_name));
    found = methods_.find(method_name);
  }
  return &found->second;
}

Result<Method*> Module::method(const std::string& method_name) {
  return &ET_UNWRAP(loaded(method_name))->method;
}

Result<MethodMeta> Module::method_meta(const std::string& method_name) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return program_->method_meta(method_name.c_str());
}

Error Module::run(LoadedMethod& loaded) {
  const threadpool::ThreadPoolScope scope(loaded.thread_pool.get());
  return loaded.method.execute();
}

Result<std::vector<EValue>> Module::execute_with(const std::string& method_name,
                                                 aten::ArrayRef<EValue> input_values) {
  LoadedMethod& loaded = *ET_UNWRAP(this->loaded(method_name));
  ET_CHECK_OR_RETURN_ERROR(input_values.size() <= loaded.method.inputs_size(), InvalidArgument,
                           "'%s' has %zu inputs, not %zu", method_name.c_str(),
                           loaded.method.inputs_size(), input_values.size());
  for (size_t i = 0; i < input_values.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(loaded.method.set_input(input_values[i], i));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(run(loaded));
  return outputs_of(loaded.method);
}

Result<std::vector<EValue>> Module::execute_list(const std::string& method_name,
                                                 aten::ArrayRef<EValue> input_values) {
  std::vector<EValue> values;
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("a list of inputs", [&] {
    values.assign(input_values.begin(), input_values.end());
    return Error::Ok;
  }));
  return execute(method_name, values);
}

Result<std::vector<EValue>> Module::execute(const std::string& method_name) {
  LoadedMethod& loaded = *ET_UNWRAP(this->loaded(method_name));
  ET_CHECK_OK_OR_RETURN_ERROR(run(loaded));
  return outputs_of(loaded.method);
}

Result<EValue> Module::get_with(const std::string& method_name,
                                aten::ArrayRef<EValue> input_values) {
  return first_of(execute_list(method_name, input_values));
}

Result<EValue> Module::get(const std::string& method_name) {
  return first_of(execute(method_name));
}

Error Module::set_input(const std::string& method_name, const EValue& input_value,
                        size_t input_index) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  return input_value.isNone() ? method->clear_input(input_index)
                              : method->set_input(input_value, input_index);
}

Error Module::set_inputs(const std::string& method_name, const std::vector<EValue>& input_values) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  return method->set_inputs(
      executorch::aten::ArrayRef<EValue>(input_values.data(), input_values.size()));
}

Error Module::set_output(const std::string& method_name, const EValue& output_value,
                         size_t output_index) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_value.isTensor(), InvalidArgument,
                           "output %zu of '%s' can only be set to a tensor", output_index,
                           method_name.c_str());
  const aten::Tensor& tensor = output_value.toTensor();
  return method->set_output_data_ptr(tensor.mutable_data_ptr(), tensor.nbytes(), output_index);
}

Error Module::set_outputs(const std::string& method_name,
                          const std::vector<EValue>& output_values) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_values.size() == method->outputs_size(), InvalidArgument,
                           "'%s' has %zu outputs, not %zu", method_name.c_str(),
                           method->outputs_size(), output_values.size());
  for (size_t i = 0; i < output_values.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_output(method_name, output_values[i], i));
  }
  return Error::Ok;
}

Result<std::vector<EValue>> Module::get_outputs(const std::string& method_name) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  return outputs_of(*method);
}

Result<EValue> Module::get_output(const std::string& method_name, size_t output_index) {
  Method* const method = ET_UNWRAP(this->method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_index < method->outputs_size(), InvalidArgument,
                           "'%s' has %zu outputs, none of index %zu", method_name.c_str(),
                           method->outputs_size(), output_index);
  return method->get_output(output_index);
}

}  // namespace executorch::extension
