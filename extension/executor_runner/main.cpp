// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// executor_runner: loads a program, runs one of its methods, prints the outputs.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/executor_runner/load/loaded_method.h>
#include <executorch/extension/executor_runner/load/program_file.h>
#include <executorch/extension/executor_runner/options.h>
#include <executorch/extension/executor_runner/report/event_record.h>
#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/extension/executor_runner/report/listing.h>
#include <executorch/extension/executor_runner/report/output.h>
#include <executorch/extension/executor_runner/test_cases.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::extension::executor_runner {
namespace {

using runtime::Method;
using runtime::Program;

std::string method_to_run(const Program& program, const Options& options) {
  if (!options.method.empty()) {
    return options.method;
  }
  std::string names;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const std::string name = require(program.get_method_name(i), "the file does not name a method");
    if (name == "forward" || program.num_methods() == 1) {
      return name;
    }
    names += (i == 0 ? "" : ", ") + name;
  }
  fail("no method 'forward': choose one with --method: " + names);
}

std::vector<char> read_file(const std::string& path) {
  const std::string failure = "cannot read input '" + path + "'";
  const FileDataLoader file = require(FileDataLoader::from(path.c_str()), failure);
  const size_t size = require(file.size(), failure);
  constexpr size_t kMaxBytes = PrepareInputTensorsOptions().max_total_allocation_size;
  if (size > kMaxBytes) {  // before allocating: the file may be sparse
    fail(failure + ": expected at most " + std::to_string(kMaxBytes) + " bytes, found " +
         std::to_string(size));
  }
  std::vector<char> bytes(size);
  require(file.load_into(0, bytes.size(), runtime::DataLoader::SegmentInfo(), bytes.data()),
          failure);
  return bytes;
}

/// Reads the input files. Without any, the result is empty and inputs are ones.
std::vector<std::vector<char>> read_inputs(const Options& options) {
  std::vector<std::vector<char>> files;
  for (const std::string& path : options.inputs) {
    files.push_back(read_file(path));
  }
  return files;
}

/// --input_shapes: sizes within the bounds that the program has for its inputs.
void resize_inputs(Method& method, const std::vector<std::vector<int32_t>>& shapes) {
  if (!shapes.empty() && shapes.size() != method.inputs_size()) {
    fail("--input_shapes: '" + std::string(method.method_meta().name()) + "' has " +
         std::to_string(method.inputs_size()) + " inputs, found the sizes of " +
         std::to_string(shapes.size()));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].empty()) {
      continue;
    }
    const std::string input = "--input_shapes: input " + std::to_string(i);
    if (!method.get_input(i).isTensor()) {
      fail(input + " is not a tensor: leave its sizes empty");
    }
    const std::vector<executorch::aten::SizesType> sizes(shapes[i].begin(), shapes[i].end());
    require(ET_RUNTIME_NAMESPACE::resize_tensor(method.get_input(i).toTensor(),
                                                {sizes.data(), sizes.size()}),
            input);
  }
}

BufferCleanup set_inputs(Method& method, const Options& options,
                         std::vector<std::vector<char>>& files) {
  std::vector<std::pair<char*, size_t>> buffers;
  for (std::vector<char>& file : files) {
    buffers.emplace_back(file.data(), file.size());
  }
  BufferCleanup inputs =
      require(prepare_input_tensors(method, {}, buffers), "cannot set the inputs");
  resize_inputs(method, options.input_shapes);
  return inputs;
}

/// Sets the size of the default pool, on which the process runs everything.
void use_threads(const Options& options) {
  const auto count = static_cast<uint32_t>(options.threads);
  if (count != options.threads ||
      !threadpool::default_threadpool()->_unsafe_reset_threadpool(count)) {
    fail("--threads: there cannot be " + std::to_string(options.threads) +
         ": this program was built without XNNPACK's thread pool, or the system gives no more");
  }
}

/// Sets an option of XNNPACK's backend for the process; an empty value leaves it as it is.
template <size_t kLength>
void set_xnnpack_option(const char* argument, const char (&key)[kLength],
                        const std::string& value) {
  if (value.empty()) {
    return;
  }
  runtime::BackendOptions<1> options;
  require(options.set_option(key, value.c_str()), argument);
  const runtime::Error error = runtime::set_option("XnnpackBackend", options.view());
  if (error == runtime::Error::NotFound) {
    fail(std::string(argument) + ": this program was built without XNNPACK");
  }
  require(error, argument);
}

void write_and_print(const Method& method, const Options& options) {
  if (options.print_output != PrintOutput::None) {
    print_outputs(method, options.print_output);
  }
  if (!options.output_file.empty()) {
    write_outputs(method, options.output_file);
  }
}

void run_repeatedly(Method& method, const std::string& name, const Options& options) {
  std::vector<std::vector<char>> files = read_inputs(options);
  // Ticks, not time of day: events are measured with the platform's clock.
  uint64_t ticks = 0;
  for (size_t i = 0; i < options.num_executions; ++i) {
    // Set anew each time: a method may use an input's planned memory for other values.
    const BufferCleanup inputs = set_inputs(method, options, files);
    const et_timestamp_t begin = runtime::pal_current_ticks();
    require(method.execute(), "'" + name + "' failed");
    ticks += runtime::pal_current_ticks() - begin;
    if (i + 1 == options.num_executions) {
      // Documented: scripts search for the first three words.
      printf("Model executed successfully: ran '%s' %zu times, %.3f ms each\n", name.c_str(),
             options.num_executions,
             static_cast<double>(runtime::ticks_to_ns(ticks)) / 1e6 /
                 static_cast<double>(options.num_executions));
      write_and_print(method, options);
    }
  }
}

/// --server_mode: every line of standard input starts a run. Callers wait for the line on stderr
/// that ends a run, whose format is documented.
void serve(Method& method, const std::string& name, const Options& options) {
  fflush(stdout);
  for (int character = 0; (character = getchar()) != EOF;) {
    while (character != '\n' && character != EOF) {
      character = getchar();
    }
    std::vector<std::vector<char>> files = read_inputs(options);
    const BufferCleanup inputs = set_inputs(method, options, files);
    require(method.execute(), "'" + name + "' failed");
    write_outputs(method, options.output_file);
    fputs("SERVER MODE DONE\n", stderr);
  }
}

void run(const Program& program, const Options& options) {
  const std::string name = method_to_run(program, options);
  EventRecord record(options);
  const std::unique_ptr<DataFiles> data = load_data_files(options);
  LoadedMethod loaded = load_method(program, name, options, *data, record.tracer());
  if (options.server_mode) {
    serve(loaded.method, name, options);
  } else {
    run_repeatedly(loaded.method, name, options);
  }
  record.write();
}

int run_command_line(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.help) {
    print_help();
    return 0;
  }
  const ProgramFile file(options);
  const Program program =
      require(Program::load(file.loader()), "cannot load '" + options.model_path + "'");
  if (options.threads != 0) {
    use_threads(options);
  }
  set_xnnpack_option("--packed_cache", "packed_cache_path", options.packed_cache);
  set_xnnpack_option("--compute_precision", "compute_precision", options.compute_precision);
  if (options.max_workspace_bytes.has_value()) {
    set_xnnpack_option("--max_workspace_bytes", "max_workspace_bytes",
                       std::to_string(*options.max_workspace_bytes));
  }
  if (options.list) {
    print_listing(program);
  } else if (file.bundle() != nullptr) {
    return run_test_cases(*file.bundle(), program, options) ? EXIT_SUCCESS : EXIT_FAILURE;
  } else {
    run(program, options);
  }
  return 0;
}

}  // namespace
}  // namespace executorch::extension::executor_runner

int main(int argc, char** argv) {
  using namespace executorch::extension::executor_runner;
  executorch::runtime::runtime_init();
  collect_messages();
  try {
    const int code = run_command_line(argc, argv);
    // A full disk shows when buffered text is written.
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
      fail(std::string("cannot write to standard output: ") + strerror(errno));
    }
    return code;
  } catch (const std::bad_alloc&) {
    fputs("executor_runner: memory is exhausted\n", stderr);
    return EXIT_FAILURE;
  }
}
