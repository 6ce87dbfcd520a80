// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every request to the heap fails once while a Module loads and runs, branches, delegates of
// XNNPACK and executions on threads included: an error, nothing kept, and the next load works.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/async/task_threads.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/test/oracle/tolerances.h>

#include "backends/demo_backend.h"
#include "faults/module_case.h"
#include "memory/heap_interposition.h"
#include "test_paths.h"

namespace executorch::testing {
namespace {

using extension::Module;
using extension::TaskThreads;
using extension::TensorPtr;
using runtime::Error;

class EveryHeapRequest : public ::testing::TestWithParam<ModuleCase> {
 protected:
  void SetUp() override {
    if (!heap::is_watched()) {
      GTEST_SKIP() << "the heap cannot be watched in this build";
    }
    runtime::runtime_init();
    runtime::register_pal(runtime::PalImpl::create(&count_message, __FILE__));
    const Error error = demo::register_demo_backend();
    ASSERT_TRUE(error == Error::Ok || error == Error::RegistrationAlreadyRegistered);
    path_ = std::string(TEST_DATA_DIR "/") + GetParam().file;
    if (path_.find("xnnpack") != std::string::npos &&
        runtime::get_backend_class("XnnpackBackend") == nullptr) {
      GTEST_SKIP() << "this build has no XnnpackBackend";
    }
  }

  static void count_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                            const char*, size_t) {}

  /// Loads and executes while request `fails` fails; `first` is the output's first number.
  Error run(int64_t fails, bool* has_failed, float* first) const {
    // Allocations of the caller come before the injected failure.
    const TensorPtr input = extension::ones(GetParam().sizes);
    const std::vector<runtime::EValue> inputs = {input};
    std::string path = path_;
    std::vector<std::string> data_files;
    if (GetParam().data_file != nullptr) {
      data_files.push_back(std::string(TEST_DATA_DIR "/") + GetParam().data_file);
    }
    std::shared_ptr<TaskThreads> threads;  // destroyed last, after they have freed their memory
    if (GetParam().is_async) {
      threads = *TaskThreads::start(2);
    }
    const heap::FailingAt failing(fails);
    Module module(std::move(path), std::move(data_files), GetParam().mode);
    const auto outputs = threads == nullptr ? module.execute(GetParam().method, inputs)
                                            : execute_on(*threads, module, inputs);
    if (outputs.ok()) {
      *first = outputs->at(0).toTensor().const_data_ptr<float>()[0];
    }
    const Error described = outputs.ok() ? describe(module) : outputs.error();
    *has_failed = failing.has_failed();
    return described;
  }

  /// Reads the texts of every operator of a delegate.
  static Error describe(Module& module) {
    const runtime::Method* const method = ET_UNWRAP(module.method(GetParam().method));
    return method->describe_delegates([](size_t, const runtime::DelegateOperator& op) {
      ASSERT_NE(op.name, nullptr);
      ASSERT_NE(op.values, nullptr);
    });
  }

  static runtime::Result<std::vector<runtime::EValue>> execute_on(
      TaskThreads& threads, Module& module, const std::vector<runtime::EValue>& inputs) {
    runtime::Execution execution =
        ET_UNWRAP(module.execute_async(GetParam().method, inputs, threads));
    ET_CHECK_OK_OR_RETURN_ERROR(execution.wait());
    EXPECT_GT(execution.task_count(), 4u);
    return module.get_outputs(GetParam().method);
  }

  std::string path_;
};

TEST_P(EveryHeapRequest, FailsWithAnErrorAndLeavesNothing) {
  constexpr int64_t kNone = INT64_MAX;
  bool has_failed = false;
  float expected = 0;
  float output = 0;
  // The first run creates what exists once in the process.
  ASSERT_EQ(run(kNone, &has_failed, &expected), Error::Ok);
  ASSERT_EQ(run(kNone, &has_failed, &expected), Error::Ok);
  int64_t alive = heap::live_blocks();
  int64_t requests = 0;
  for (;; ++requests) {
    const Error error = run(requests, &has_failed, &output);
    if (!has_failed) {
      EXPECT_EQ(error, Error::Ok);
      break;
    }
    // A kernel without scratch memory computes in another way, which rounds differently.
    const bool is_right = std::abs(output - expected) <= tolerance::kLayer * std::abs(expected);
    EXPECT_TRUE(error == Error::MemoryAllocationFailed || (error == Error::Ok && is_right))
        << "request " << requests << ": " << runtime::to_string(error);
    ASSERT_EQ(run(kNone, &has_failed, &output), Error::Ok) << "after request " << requests;
    EXPECT_EQ(output, expected);
    EXPECT_EQ(heap::live_blocks(), alive) << "request " << requests;
    alive = heap::live_blocks();  // a failure's message takes some
  }
  // --gtest_output=xml:FILE reports the number of requests.
  RecordProperty("requests", static_cast<int>(requests));
  EXPECT_GT(requests, 0);
}

TEST(TensorPtrWithoutMemory, ThrowsAndLeavesNothing) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  const int64_t alive = heap::live_blocks();
  int64_t thrown = 0;
  for (bool has_failed = true; has_failed; ++thrown) {
    const heap::FailingAt failing(thrown);
    try {
      const TensorPtr tensor = extension::full({2, 3}, 4);
      EXPECT_EQ(extension::clone_tensor_ptr(tensor)->const_data_ptr<float>()[5], 4);
    } catch (const std::bad_alloc&) {
    }
    has_failed = failing.has_failed();
  }
  EXPECT_GT(thrown, 8);
  EXPECT_EQ(heap::live_blocks(), alive);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, EveryHeapRequest,
    ::testing::Values(
        ModuleCase{"peer/conv.pte", "forward", {1, 3, 16, 16}, Module::LoadMode::File},
        ModuleCase{"peer/mlp_dynamic.pte", "forward", {3, 8}, Module::LoadMode::Mmap},
        ModuleCase{"peer/external.pte",
                   "forward",
                   {1, 3},
                   Module::LoadMode::File,
                   false,
                   "peer/external.ptd"},
        ModuleCase{"demo/cond_true.pte", "forward", {2, 2}, Module::LoadMode::File},
        ModuleCase{"int8/images.pte", "forward", {1, 3, 8, 8}, Module::LoadMode::File},
        ModuleCase{"int8/images.pte", "forward", {1, 3, 8, 8}, Module::LoadMode::File, true},
        ModuleCase{"int8/rows.pte", "forward", {2, 12}, Module::LoadMode::Mmap},
        ModuleCase{"xnnpack/two_sizes.pte", "small", {1, 3, 8, 8}, Module::LoadMode::File},
        ModuleCase{"xnnpack/quantized.pte", "forward", {1, 3, 8, 8}, Module::LoadMode::File}),
    [](const ::testing::TestParamInfo<ModuleCase>& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace executorch::testing
