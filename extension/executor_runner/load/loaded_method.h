// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/executor_runner/options.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::extension::executor_runner {

/// A method with the memory that it runs in, outputs included.
struct LoadedMethod {
  std::unique_ptr<MethodMemory> memory;
  runtime::Method method;
  /// Memory of the outputs that the plan does not allocate.
  std::vector<HeapBlock> outputs;
};

/// The files of --data_path.
std::unique_ptr<DataFiles> load_data_files(const Options& options);

/// Loads the method within the limits of the options, and prints how long that took. `program`,
/// `data` and `tracer` (or null) must outlive it.
LoadedMethod load_method(const runtime::Program& program, const std::string& name,
                         const Options& options, const DataFiles& data,
                         runtime::EventTracer* tracer);

}  // namespace executorch::extension::executor_runner
