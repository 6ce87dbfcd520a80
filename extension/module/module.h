// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Module: a program file and its methods behind one object that owns all they need.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/async/execution.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::extension {

using runtime::LoadBackendOptionsMap;
using runtime::Method;
using runtime::MethodMeta;
using runtime::NamedDataMap;
using runtime::Program;

/// Loads program and methods when they are first needed. Not thread-safe; modules that share a
/// program() are independent of each other.
///
/// Tensors in results refer to the method's memory: they are valid until the method runs again, is
/// unloaded, or the module is destroyed. clone_tensor_ptr() makes copies.
class Module {
  using Values = aten::ArrayRef<runtime::EValue>;

 public:
  /// How the file is read.
  enum class LoadMode {
    /// Into memory.
    File,
    /// Mapped; pages are read when they are touched.
    Mmap,
    /// Mapped and locked in memory.
    MmapUseMlock,
    /// Mapped and, as far as the system allows, locked in memory.
    MmapUseMlockIgnoreErrors,
    /// Mapped; the system is advised to read all of it ahead, in order.
    MmapUseMadvise,
  };

  /// The file at `file_path`, which is opened by load(). Given allocators serve all methods; by
  /// default every method gets the exact size that the file states. With `share_memory_arenas`,
  /// methods share planned buffers 0 and 1 (see SharedArenas): the first load_method() loads all
  /// methods, and an output is valid until any method is executed.
  explicit Module(std::string file_path, LoadMode load_mode = LoadMode::File,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  bool share_memory_arenas = false);

  /// The same with weights in .ptd files beside the program.
  Module(std::string file_path, std::vector<std::string> data_files,
         LoadMode load_mode = LoadMode::File,
         std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
         std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
         std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
         bool share_memory_arenas = false);
  Module(std::string file_path, std::string data_map_path, LoadMode load_mode = LoadMode::File,
         std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
         std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
         std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
         bool share_memory_arenas = false);

  /// A module of the program that `data_loader` loads. Its weights are in the .ptd file of
  /// `data_map_loader`, if that is not null.
  explicit Module(std::unique_ptr<runtime::DataLoader> data_loader,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr,
                  bool share_memory_arenas = false);

  /// A loaded program, for example of another module, whose constants are then shared. Weights
  /// outside it are in the .ptd file that `data_map_loader` loads, unless it is null.
  explicit Module(std::shared_ptr<runtime::Program> program,
                  std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                  std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                  std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                  std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr,
                  bool share_memory_arenas = false);

  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Module(Module&&) = delete;
  Module& operator=(Module&&) = delete;
  // All virtual functions are inline, so that code with RTTI can derive from this class although
  // the library is built without RTTI.
  virtual ~Module() = default;

  /// Loads the program unless loaded; errors as DataLoader and Program::load().
  [[nodiscard]] virtual runtime::Error load(
      runtime::Program::Verification verification = runtime::Program::Verification::Minimal) {
    return load_program(verification);
  }
  /// The same; methods are loaded with `backend_options`, which must outlive the last
  /// load_method(), unless they are given options of their own.
  [[nodiscard]] virtual runtime::Error load(
      const runtime::LoadBackendOptionsMap& backend_options,
      runtime::Program::Verification verification = runtime::Program::Verification::Minimal) {
    backend_options_ = &backend_options;
    return load(verification);
  }
  virtual bool is_loaded() const { return program_ != nullptr; }
  /// The options given to load(); null if there are none.
  const runtime::LoadBackendOptionsMap* backend_options() const { return backend_options_; }
  /// The program, which keeps its data sources alive; null before load().
  std::shared_ptr<runtime::Program> program() const { return program_; }

  /// Makes methods share their arenas, as the constructors' `share_memory_arenas` does.
  /// InvalidState once a method is loaded.
  [[nodiscard]] runtime::Error share_memory_arenas();

  // The functions below load the program, and the method they name, if need be; they return the
  // errors of that too.

  runtime::Result<size_t> num_methods();
  runtime::Result<std::unordered_set<std::string>> method_names();

  /// The threads of methods that are loaded from now on; null: the process's default pool.
  void set_thread_pool(std::shared_ptr<threadpool::ThreadPool> thread_pool) {
    thread_pool_ = std::move(thread_pool);
  }

  /// Limits the planned bytes (check_planned_bytes()) of methods that are loaded from now on; 0: no
  /// limit. The default is default_max_planned_bytes().
  void set_max_planned_bytes(size_t max_planned_bytes) { max_planned_bytes_ = max_planned_bytes; }

  /// Calls Method::set_instruction_budget() for methods that are loaded from now on.
  void set_instruction_budget(size_t instructions) { instruction_budget_ = instructions; }

  /// `planned_memory`: planned buffers; must outlive the method. `event_tracer`: replaces the
  /// module's; must outlive the method. `backend_options`: used during the call. `thread_pool`:
  /// replaces the module's. All are ignored for a method that is already loaded.
  [[nodiscard]] runtime::Error load_method(
      const std::string& method_name, runtime::HierarchicalAllocator* planned_memory = nullptr,
      runtime::EventTracer* event_tracer = nullptr,
      const runtime::LoadBackendOptionsMap* backend_options = nullptr,
      std::shared_ptr<threadpool::ThreadPool> thread_pool = nullptr) {
    return load_with(method_name,
                     {planned_memory, event_tracer, backend_options, std::move(thread_pool), {}});
  }
  /// `kernels`: used instead of the registered ones, unless empty.
  [[nodiscard]] runtime::Error load_method(const std::string& method_name,
                                           runtime::HierarchicalAllocator* planned_memory,
                                           runtime::EventTracer* event_tracer,
                                           const runtime::LoadBackendOptionsMap* backend_options,
                                           std::vector<runtime::Kernel> kernels) {
    return load_with(method_name,
                     {planned_memory, event_tracer, backend_options, nullptr, std::move(kernels)});
  }
  [[nodiscard]] runtime::Error load_method(const std::string& method_name,
                                           runtime::EventTracer* event_tracer) {
    return load_method(method_name, nullptr, event_tracer, nullptr);
  }
  /// Returns false if the method was not loaded.
  bool unload_method(const std::string& method_name);
  bool is_method_loaded(const std::string& method_name) const;
  /// Valid until the method is unloaded.
  runtime::Result<runtime::Method*> method(const std::string& method_name);
  /// Does not load the method. Valid as long as program().
  runtime::Result<runtime::MethodMeta> method_meta(const std::string& method_name);

  /// Runs a method with `input_values` as first inputs; set_input() must have set the others.
  /// Returns all outputs. InvalidState if an input is missing. All execute functions with inputs
  /// call this one.
  virtual runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name, const std::vector<runtime::EValue>& input_values) {
    return execute_with(method_name, Values(input_values.data(), input_values.size()));
  }
  /// The same with its first input.
  runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name,
                                                        const runtime::EValue& input_value) {
    return execute_list(method_name, Values(&input_value, 1));
  }
  /// Resolves `{tensor}` to a list of one value.
  runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name, std::initializer_list<runtime::EValue> input_values) {
    return execute_list(method_name, Values(input_values.begin(), input_values.size()));
  }
  /// Starts an execution on the pool's threads, as Method::execute_async(); nothing else may be
  /// done with the method before it ends, and get_outputs() has its outputs then. Linked with the
  /// target extension_async.
  runtime::Result<runtime::Execution> execute_async(
      const std::string& method_name, const std::vector<runtime::EValue>& input_values,
      runtime::TaskPool& pool);

  /// Runs a method without inputs, or with those that set_input() has set.
  runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name);

  /// The same, returning the first output.
  runtime::Result<runtime::EValue> get(const std::string& method_name,
                                       const std::vector<runtime::EValue>& input_values) {
    return get_with(method_name, Values(input_values.data(), input_values.size()));
  }
  runtime::Result<runtime::EValue> get(const std::string& method_name,
                                       const runtime::EValue& input_value) {
    return get_with(method_name, Values(&input_value, 1));
  }
  runtime::Result<runtime::EValue> get(const std::string& method_name,
                                       std::initializer_list<runtime::EValue> input_values) {
    return get_with(method_name, Values(input_values.begin(), input_values.size()));
  }
  runtime::Result<runtime::EValue> get(const std::string& method_name);

  /// Sets one input. A tensor's memory must live until the method has run. `EValue()` unsets
  /// the input. An input stays set for further executions, unless the plan reuses its memory for
  /// other values.
  [[nodiscard]] runtime::Error set_input(const std::string& method_name,
                                         const runtime::EValue& input_value, size_t input_index);
  [[nodiscard]] runtime::Error set_inputs(const std::string& method_name,
                                          const std::vector<runtime::EValue>& input_values);

  /// Makes the method write an output into the memory of `output_value`, a tensor, which must live
  /// as long as the method runs with it; InvalidState if the plan has memory for the output.
  [[nodiscard]] runtime::Error set_output(const std::string& method_name,
                                          const runtime::EValue& output_value,
                                          size_t output_index = 0);
  [[nodiscard]] runtime::Error set_outputs(const std::string& method_name,
                                           const std::vector<runtime::EValue>& output_values);
  /// The outputs of the last run.
  runtime::Result<std::vector<runtime::EValue>> get_outputs(
      const std::string& method_name = "forward");
  runtime::Result<runtime::EValue> get_output(const std::string& method_name,
                                              size_t output_index = 0);
  runtime::Result<runtime::EValue> get_output(size_t output_index = 0) {
    return get_output("forward", output_index);
  }

  // The same for the method "forward".

  [[nodiscard]] runtime::Error load_forward(
      runtime::HierarchicalAllocator* planned_memory = nullptr,
      runtime::EventTracer* event_tracer = nullptr,
      const runtime::LoadBackendOptionsMap* backend_options = nullptr,
      std::shared_ptr<threadpool::ThreadPool> thread_pool = nullptr) {
    return load_method("forward", planned_memory, event_tracer, backend_options,
                       std::move(thread_pool));
  }
  [[nodiscard]] runtime::Error load_forward(runtime::EventTracer* event_tracer) {
    return load_method("forward", event_tracer);
  }
  bool unload_forward() { return unload_method("forward"); }
  runtime::Result<std::vector<runtime::EValue>> forward(
      const std::vector<runtime::EValue>& input_values) {
    return execute("forward", input_values);
  }
  runtime::Result<std::vector<runtime::EValue>> forward(const runtime::EValue& input_value) {
    return execute("forward", input_value);
  }
  runtime::Result<std::vector<runtime::EValue>> forward(
      std::initializer_list<runtime::EValue> input_values) {
    return execute("forward", input_values);
  }
  runtime::Result<std::vector<runtime::EValue>> forward() { return execute("forward"); }
  [[nodiscard]] runtime::Error set_input(const runtime::EValue& input_value, size_t input_index) {
    return set_input("forward", input_value, input_index);
  }
  [[nodiscard]] runtime::Error set_inputs(const std::vector<runtime::EValue>& input_values) {
    return set_inputs("forward", input_values);
  }
  [[nodiscard]] runtime::Error set_output(const runtime::EValue& output_value,
                                          size_t output_index = 0) {
    return set_output("forward", output_value, output_index);
  }
  [[nodiscard]] runtime::Error set_outputs(const std::vector<runtime::EValue>& output_values) {
    return set_outputs("forward", output_values);
  }

  /// Null if none was given.
  runtime::EventTracer* event_tracer() const { return event_tracer_.get(); }
  /// Always empty: an EventTracer has its own buffer.
  runtime::Span<uint8_t> debug_buffer() { return {}; }

 private:
  struct LoadedMethod {
    std::unique_ptr<MethodMemory> memory;
    std::shared_ptr<threadpool::ThreadPool> thread_pool;
    std::vector<runtime::Kernel> kernels;
    runtime::Method method;
  };
  /// The optional parameters of load_method().
  struct LoadOptions {
    runtime::HierarchicalAllocator* planned_memory = nullptr;
    runtime::EventTracer* event_tracer = nullptr;
    const runtime::LoadBackendOptionsMap* backend_options = nullptr;
    std::shared_ptr<threadpool::ThreadPool> thread_pool;
    std::vector<runtime::Kernel> kernels;
  };

  runtime::Error load_program(runtime::Program::Verification verification);
  /// Default implementation of execute().
  runtime::Result<std::vector<runtime::EValue>> execute_with(const std::string& method_name,
                                                             Values input_values);
  /// Calls execute() with a copy of the list.
  runtime::Result<std::vector<runtime::EValue>> execute_list(const std::string& method_name,
                                                             Values input_values);
  runtime::Result<runtime::EValue> get_with(const std::string& method_name, Values input_values);
  runtime::Error load_data_files();
  /// Implementation of load_method().
  runtime::Error load_with(const std::string& method_name, LoadOptions options);
  runtime::Error load_one(const std::string& method_name, LoadOptions options);
  /// Loads the method unless it is loaded.
  runtime::Result<LoadedMethod*> loaded(const std::string& method_name);
  /// Executes the method on its pool.
  static runtime::Error run(LoadedMethod& loaded);
  /// Makes the arenas, and loads all methods into them.
  runtime::Error load_sharing(const runtime::LoadBackendOptionsMap* backend_options);

  std::string file_path_;
  std::vector<std::string> data_paths_;
  LoadMode load_mode_ = LoadMode::File;
  std::unique_ptr<runtime::DataLoader> data_loader_;
  std::vector<std::unique_ptr<runtime::DataLoader>> data_map_loaders_;
  std::unique_ptr<runtime::EventTracer> event_tracer_;
  std::unique_ptr<runtime::MemoryAllocator> memory_allocator_;
  std::unique_ptr<runtime::MemoryAllocator> temp_allocator_;
  std::shared_ptr<threadpool::ThreadPool> thread_pool_;
  std::shared_ptr<runtime::Program> program_;
  std::unique_ptr<DataFiles> data_files_;
  const runtime::LoadBackendOptionsMap* backend_options_ = nullptr;
  bool share_memory_arenas_ = false;
  size_t max_planned_bytes_ = default_max_planned_bytes();
  size_t instruction_budget_ = 0;
  std::optional<SharedArenas> arenas_;
  // Declared last: methods are destroyed before the program, the data files and the allocators.
  std::unordered_map<std::string, LoadedMethod> methods_;
};

}  // namespace executorch::extension

// Documented names of the same things.
#ifdef USE_ATEN_LIB
#define ET_MODULE_NAMESPACE module::aten
#else
#define ET_MODULE_NAMESPACE module
#endif
namespace executorch::extension::module {
using ::executorch::extension::Module;
#ifdef USE_ATEN_LIB
namespace aten {
using ::executorch::extension::Module;
}  // namespace aten
#endif
}  // namespace executorch::extension::module

namespace torch::executor {
using ::executorch::extension::Module;
}  // namespace torch::executor
