// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a program's forward on ones and prints its outputs: selective_build_test --model_path=FILE
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace executorch::runtime;

namespace {

Error run(const char* path) {
  auto loader = ET_UNWRAP(executorch::extension::FileDataLoader::from(path));
  const Program program = ET_UNWRAP(Program::load(&loader));
  const MethodMeta meta = ET_UNWRAP(program.method_meta("forward"));
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    buffers.emplace_back(static_cast<size_t>(ET_UNWRAP(meta.memory_planned_buffer_size(i))));
    spans.emplace_back(buffers.back().data(), buffers.back().size());
  }
  HierarchicalAllocator planned({spans.data(), spans.size()});
  executorch::extension::MallocMemoryAllocator method_allocator;
  MemoryManager memory(&method_allocator, &planned);
  Method method = ET_UNWRAP(program.load_method("forward", &memory));
  const auto inputs = executorch::extension::prepare_input_tensors(method);
  ET_CHECK_OK_OR_RETURN_ERROR(inputs.error());
  ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    std::cout << "Output " << i << ": " << method.get_output(i) << "\n";
  }
  return Error::Ok;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kOption = "--model_path";
  std::string_view path = "model.pte";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kOption && i + 1 < argc) {
      path = argv[++i];
    } else if (argument.substr(0, kOption.size() + 1) == "--model_path=") {
      path = argument.substr(kOption.size() + 1);
    } else {
      std::fprintf(stderr, "usage: %s --model_path=FILE\n", argv[0]);
      return 2;
    }
  }
  runtime_init();
  const Error error = run(std::string(path).c_str());
  if (error != Error::Ok) {
    std::fprintf(stderr, "%s: %s\n", std::string(path).c_str(), to_string(error));
  }
  return error == Error::Ok ? 0 : 1;
}
