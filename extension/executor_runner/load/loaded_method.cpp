// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/load/loaded_method.h>

#include <stdio.h>

#include <utility>

#include <executorch/extension/executor_runner/load/data_source.h>
#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/runtime/platform/clock.h>

namespace executorch::extension::executor_runner {

using runtime::Method;

namespace {

/// Allocates memory for outputs that the plan leaves to the caller.
std::vector<HeapBlock> set_output_memory(Method& method) {
  std::vector<HeapBlock> blocks;
  const runtime::MethodMeta meta = method.method_meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    if (require(meta.output_tag(i), "the file does not describe an output") !=
        runtime::Tag::Tensor) {
      continue;
    }
    const runtime::TensorInfo info =
        require(meta.output_tensor_meta(i), "the file does not describe an output");
    if (!info.is_memory_planned()) {
      blocks.push_back(require(HeapBlock::allocate(info.nbytes()), "no memory for an output"));
      require(method.set_output_data_ptr(blocks.back().bytes().data(), info.nbytes(), i),
              "cannot set an output");
    }
  }
  return blocks;
}

}  // namespace

std::unique_ptr<DataFiles> load_data_files(const Options& options) {
  std::vector<std::unique_ptr<runtime::DataLoader>> loaders;
  for (const std::string& path : options.data_paths) {
    loaders.push_back(open_data(options, path));
  }
  return require(DataFiles::load(std::move(loaders)), "cannot load the data files");
}

LoadedMethod load_method(const runtime::Program& program, const std::string& name,
                         const Options& options, const DataFiles& data,
                         runtime::EventTracer* tracer) {
  const runtime::MethodMeta meta = require(program.method_meta(name.c_str()), "cannot run");
  MethodMemory::Given given;
  given.max_planned_bytes = options.max_planned_bytes;
  std::unique_ptr<MethodMemory> memory =
      require(MethodMemory::allocate(meta, given), "no memory for '" + name + "'");
  const et_timestamp_t begin = runtime::pal_current_ticks();
  Method method = require(program.load_method(name.c_str(), memory->manager(), tracer, data.map()),
                          "cannot load the method '" + name + "'");
  method.set_instruction_budget(options.instruction_budget);
  printf("loaded '%s' in %.3f ms\n", name.c_str(),
         static_cast<double>(runtime::ticks_to_ns(runtime::pal_current_ticks() - begin)) / 1e6);
  std::vector<HeapBlock> outputs = set_output_memory(method);
  return {std::move(memory), std::move(method), std::move(outputs)};
}

}  // namespace executorch::extension::executor_runner
