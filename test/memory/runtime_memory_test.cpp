// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory that the runtime uses in addition to its allocators: the stack, where the program, the
// method and their memory manager lie.
#include <gtest/gtest.h>
#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include "memory/static_program.h"
#include "test_paths.h"

namespace executorch::testing {
namespace {

using runtime::Error;

/// Returns the stack bytes that `task(context)` uses on a new thread, including the thread's own
/// data.
size_t stack_of(void* (*task)(void*), void* context) {
  constexpr size_t kSize = 1 << 18;
  constexpr uint8_t kPaint = 0xA5;
  alignas(4096) static uint8_t stack[kSize];
  memset(stack, kPaint, kSize);
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, kSize), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attributes, task, context), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  const uint8_t* const used =
      std::find_if(stack, stack + kSize, [](uint8_t byte) { return byte != kPaint; });
  return static_cast<size_t>(stack + kSize - used);
}

/// A program, kernels that do nothing, and the program's memory.
struct Execution {
  StaticMemory memory;
  size_t program_size;
  std::vector<std::string> names;
  std::vector<runtime::Kernel> kernels;
  Error error;
};

Error execute(Execution& run) {
  extension::BufferDataLoader loader(run.memory.program, run.program_size);
  const runtime::Result<runtime::Program> program = runtime::Program::load(&loader);
  ET_CHECK_OK_OR_RETURN_ERROR(program.error());
  runtime::MemoryAllocator method_allocator(StaticMemory::kMax, run.memory.method);
  runtime::Span<uint8_t> buffers[] = {{run.memory.planned[0], StaticMemory::kMax}};
  runtime::HierarchicalAllocator planned({buffers, 1});
  runtime::MemoryManager manager(&method_allocator, &planned);
  runtime::Result<runtime::Method> method = program->load_method(
      "forward", &manager, nullptr, nullptr, nullptr, {run.kernels.data(), run.kernels.size()});
  ET_CHECK_OK_OR_RETURN_ERROR(method.error());
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_to_zeros(*method, i, run.memory));
  }
  return method->execute();
}

void* execute_on_thread(void* context) {
  Execution& run = *static_cast<Execution*>(context);
  run.error = execute(run);
  return nullptr;
}

void do_nothing(runtime::KernelRuntimeContext&, runtime::Span<runtime::EValue*>) {}

/// Reads the program and registers a kernel for each of its operators.
void prepare(const char* name, Execution& run) {
  const std::string path = std::string(TEST_DATA_DIR "/peer/") + name + ".pte";
  auto loader = extension::FileDataLoader::from(path.c_str());
  run.program_size = *loader->size();
  ASSERT_EQ(loader->load_into(0, run.program_size, {}, run.memory.program), Error::Ok);
  const auto program = runtime::Program::load(&*loader);
  const runtime::MethodMeta meta = *program->method_meta("forward");
  run.names.clear();
  for (size_t i = 0; i < meta.num_operators(); ++i) {
    const runtime::OperatorName op = *meta.operator_name(i);
    run.names.push_back(std::string(op.name) + "." + op.overload);
  }
  run.kernels.clear();
  for (const std::string& kernel : run.names) {
    run.kernels.emplace_back(kernel.c_str(), do_nothing);
  }
}

// Together with at most 1 KiB of static memory (test/house/test_binary_size.py): 4 KiB.
constexpr size_t kMaxStack = 3072;

TEST(RuntimeMemory, TheStackIsSmall) {
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "frames are larger in this build";
#endif
  runtime::runtime_init();
  static Execution run;
  const size_t thread = stack_of([](void*) -> void* { return nullptr; }, nullptr);
  for (const char* name : {"add", "mlp_dynamic", "conv"}) {
    prepare(name, run);
    stack_of(execute_on_thread, &run);  // the dynamic linker resolves functions at their first call
    EXPECT_EQ(run.error, Error::Ok);
    const size_t used = stack_of(execute_on_thread, &run) - thread;
    EXPECT_LE(used, kMaxStack) << name;
    RecordProperty(name, static_cast<int>(used));
  }
}

}  // namespace
}  // namespace executorch::testing
