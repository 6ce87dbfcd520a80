// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/extension/pybindings/interpreter/python_reference.h>
#include <executorch/extension/pybindings/program/backend_choices.h>
#include <executorch/extension/pybindings/program/event_record.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::extension::pybindings {

/// Limits of a method; 0: no limit.
struct Limits {
  size_t max_planned_bytes = default_max_planned_bytes();
  size_t instruction_budget = 0;
};

/// A program and everything that it refers to. Methods, metadata and views share ownership.
class LoadedProgram final {
 public:
  /// Maps the file. Raises AccessError if it cannot be read, InvalidProgramError if it is not a
  /// program.
  static std::shared_ptr<LoadedProgram> from_file(const std::string& path,
                                                  runtime::Program::Verification verification);

  /// Adds the weights of a .ptd file, before any method is loaded: maps the file, or uses the
  /// memory of `bytes` and keeps it alive. Raises AccessError or InvalidExternalDataError.
  void add_data_file(const std::string& path);
  void add_data_bytes(pybind11::bytes bytes);

  /// Null without data files.
  const ET_RUNTIME_NAMESPACE::NamedDataMap* data_map() const {
    return data_ == nullptr ? nullptr : data_->map();
  }

  /// Uses the memory of `bytes`, which are immutable, and keeps it alive.
  static std::shared_ptr<LoadedProgram> from_bytes(pybind11::bytes bytes,
                                                   runtime::Program::Verification verification);
  /// Uses `bytes`, which `owner` keeps alive. `source` names them in messages.
  static std::shared_ptr<LoadedProgram> from_memory(pybind11::object owner,
                                                    runtime::Span<const uint8_t> bytes,
                                                    std::string source,
                                                    runtime::Program::Verification verification);
  /// Reads the program, and its weights later, by `loader`.
  static std::shared_ptr<LoadedProgram> from_loader(std::unique_ptr<runtime::DataLoader> loader,
                                                    runtime::Program::Verification verification);

  const runtime::Program& program() const { return *program_; }

  /// Lets one thread execute at a time: one method, or all methods that share memory or events.
  struct Turns {
    using Mutex = std::timed_mutex;
    Mutex mutex;
    std::atomic<std::thread::id> running_in{};
  };
  /// Makes methods that are loaded later share arenas (see SharedArenas). Further calls
  /// have no effect, because loaded methods use the arenas.
  void share_arenas();
  /// Returns the shared arenas, or null.
  const SharedArenas* arenas() const { return arenas_.has_value() ? &*arenas_ : nullptr; }
  /// Returns one for each method, or the same one if methods share arenas or an event record.
  std::shared_ptr<Turns> turns() const {
    return shared_turns_ != nullptr ? shared_turns_ : std::make_shared<Turns>();
  }
  /// Sets the threads of methods that are loaded later; null for the process's default pool.
  void use_threads(std::shared_ptr<threadpool::ThreadPool> pool) { pool_ = std::move(pool); }
  const std::shared_ptr<threadpool::ThreadPool>& pool() const { return pool_; }
  /// Sets the backend options of methods that are loaded later.
  void use_backend_options(const std::map<std::string, OptionValues>& choices) {
    choices_ = std::make_shared<const BackendChoices>(choices);
  }
  /// Loading a method keeps the result alive: another thread may set other options meanwhile.
  const std::shared_ptr<const BackendChoices>& backend_choices() const { return choices_; }
  /// Sets the limits of methods that are loaded later without limits of their own.
  void set_limits(const Limits& limits) { limits_ = limits; }
  const Limits& limits() const { return limits_; }
  /// Records events of methods that are loaded later; these methods take turns. Raises the errors
  /// of EventRecord's constructor.
  void record_events(size_t debug_buffer_size);
  bool records_events() const { return events_ != nullptr; }
  runtime::EventTracer* tracer() const { return events_ == nullptr ? nullptr : events_->tracer(); }
  /// Waits until no method runs and writes the events recorded so far. Raises InvalidStateError if
  /// the program does not record events, AccessError if a file cannot be written.
  void write_events(const std::string& path, const std::optional<std::string>& debug_buffer_path);

  /// For messages: the path of the file, or a name for the memory.
  const std::string& source() const { return source_; }

  /// Raises a MethodNotFoundError that lists the program's methods.
  runtime::MethodMeta method_meta(const std::string& method) const;
  std::vector<std::string> method_names() const;

 private:
  LoadedProgram(std::string source, PythonReference memory,
                std::unique_ptr<runtime::DataLoader> loader)
      : source_(std::move(source)), memory_(std::move(memory)), loader_(std::move(loader)) {}

  void load(runtime::Program::Verification verification);
  void load_data(std::unique_ptr<runtime::DataLoader> loader, const std::string& source);

  std::string source_;
  PythonReference memory_;
  std::unique_ptr<runtime::DataLoader> loader_;
  std::optional<runtime::Program> program_;
  PythonReference data_memory_;
  std::unique_ptr<DataFiles> data_;
  std::optional<SharedArenas> arenas_;
  std::unique_ptr<EventRecord> events_;
  std::shared_ptr<Turns> shared_turns_;
  std::shared_ptr<threadpool::ThreadPool> pool_;
  std::shared_ptr<const BackendChoices> choices_ = std::make_shared<const BackendChoices>();
  Limits limits_;
};

}  // namespace executorch::extension::pybindings
