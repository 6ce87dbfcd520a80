// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Module::execute_async(): on a program of one task; and on those of a folder that
// test/concurrent_programs.py fills, again and again, with whatever kernels and delegates they
// have.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <executorch/extension/async/task_threads.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "test_paths.h"

namespace {

using namespace executorch::extension;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Program;

TEST(ModuleAsyncTest, TheFutureEndsWithTheMethodsOutputs) {
  executorch::runtime::runtime_init();
  auto pool = TaskThreads::start(2);
  ASSERT_TRUE(pool.ok());
  Module module(std::string(TEST_DATA_DIR) + "/peer/add.pte");
  const TensorPtr x = make_tensor_ptr({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  for (int i = 0; i < 3; ++i) {
    auto execution = module.execute_async("forward", {x, x}, **pool);
    ASSERT_TRUE(execution.ok());
    EXPECT_EQ(execution->task_count(), 1u);
    ASSERT_EQ(execution->wait(), Error::Ok);
    const auto outputs = module.get_outputs();
    ASSERT_TRUE(outputs.ok());
    EXPECT_EQ((*outputs)[0].toTensor().const_data_ptr<float>()[5], 12);
  }
  EXPECT_EQ(module.execute_async("backward", {x, x}, **pool).error(), Error::InvalidArgument);
  EXPECT_EQ(module.execute_async("forward", {x}, **pool).error(), Error::InvalidArgument);
}

/// The outputs' bytes.
std::vector<std::string> bytes_of(const std::vector<EValue>& outputs) {
  std::vector<std::string> contents;
  for (const EValue& output : outputs) {
    const auto& tensor = output.toTensor();
    contents.emplace_back(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  return contents;
}

/// Float inputs of the sizes that the method states.
std::vector<TensorPtr> inputs_of(Module& module, int seed) {
  std::vector<TensorPtr> inputs;
  const auto meta = module.method_meta("forward");
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto sizes = meta->input_tensor_meta(i)->sizes();
    inputs.push_back(zeros({sizes.begin(), sizes.end()}));
    float* const data = inputs.back()->mutable_data_ptr<float>();
    for (ssize_t k = 0; k < inputs.back()->numel(); ++k) {
      data[k] = static_cast<float>((k * 37 + seed * 11 + static_cast<int>(i)) % 101) / 50 - 1;
    }
  }
  return inputs;
}

/// Two executions of a program by the same threads at the same time, against one after the other.
void run_beside_another(const std::shared_ptr<Program>& program, TaskThreads& pool) {
  Module one(program), other(program), oracle(program);
  for (Module* module : {&one, &other, &oracle}) {
    ASSERT_EQ(module->load_method("forward"), Error::Ok);
  }
  for (int seed = 0; seed < 10; ++seed) {
    const std::vector<TensorPtr> given = inputs_of(oracle, seed);
    const std::vector<EValue> values(given.begin(), given.end());
    auto first = one.execute_async("forward", values, pool);
    auto second = other.execute_async("forward", values, pool);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_GT(first->task_count(), 4u);
    if (seed % 4 == 3) second->cancel();
    ASSERT_EQ(first->wait(), Error::Ok);
    const Error ended = second->wait();
    const auto expected = oracle.execute("forward", values);
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(bytes_of(*one.get_outputs()), bytes_of(*expected));
    if (seed % 4 != 3) {
      ASSERT_EQ(ended, Error::Ok);
      EXPECT_EQ(bytes_of(*other.get_outputs()), bytes_of(*expected));
    }
  }
}

TEST(ModuleAsyncTest, ConcurrentProgramsGiveTheBitsOfSequentialExecution) {
  const char* const folder = getenv("EXECUTORCH_CONCURRENT_PROGRAMS");
  if (folder == nullptr) GTEST_SKIP() << "EXECUTORCH_CONCURRENT_PROGRAMS names no folder";
  executorch::runtime::runtime_init();
  auto pool = TaskThreads::start(4);
  ASSERT_TRUE(pool.ok());
  size_t programs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".pte") continue;
    ++programs;
    SCOPED_TRACE(file.path());
    Module module(file.path());
    ASSERT_EQ(module.load(), Error::Ok);
    // From two threads of the application, each with methods of its own of one program.
    std::thread beside([&] { run_beside_another(module.program(), **pool); });
    run_beside_another(module.program(), **pool);
    beside.join();
  }
  EXPECT_GT(programs, 0u);
}

}  // namespace
