// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every system call, thread and delegate call fails once while a Module loads and executes. The
// result is an error, or unchanged; nothing leaks, which LeakSanitizer checks, and the next load
// works. Allocators and data loaders: test/memory/allocator_faults_test.cpp; the heap:
// test/memory/heap_faults_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <executorch/extension/async/task_threads.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include "backends/demo_backend.h"
#include "faults/fault_points.h"
#include "faults/faulty_backend.h"
#include "faults/module_case.h"
#include "runtime/log_capture.h"
#include "test_paths.h"

namespace executorch::testing {
namespace {

using extension::Module;
using extension::TaskThreads;
using extension::TensorPtr;
using runtime::Error;

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class EveryFault : public ::testing::TestWithParam<ModuleCase> {
 protected:
  static void SetUpTestSuite() {
    runtime::runtime_init();
    ASSERT_EQ(demo::register_demo_backend(), Error::Ok);
    for (const char* name : demo::kDemoBackendNames) {
      ASSERT_EQ(register_faulty_backend(name), Error::Ok);
    }
    (void)register_faulty_backend("XnnpackBackend");
  }

  void SetUp() override {
    if (!faults::are_system_calls_watched()) {
      GTEST_SKIP() << "system calls cannot be watched in this build";
    }
    folder_ = ::testing::TempDir() + "every_fault";
    std::filesystem::create_directories(folder_);
    const std::string path = std::string(TEST_DATA_DIR "/") + GetParam().file;
    if (path.find("xnnpack") != std::string::npos &&
        runtime::get_backend_class("XnnpackBackend") == nullptr) {
      GTEST_SKIP() << "this build has no XnnpackBackend";
    }
    path_ = with_faulty_delegates(path, folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Loads and executes twice while point `index` fails. `numbers` is the last output.
  Error run(int64_t index, std::vector<float>* numbers) {
    const ModuleCase& given = GetParam();
    const TensorPtr input = extension::ones(given.sizes);
    std::vector<std::string> data_files;
    if (given.data_file != nullptr) {
      data_files.push_back(std::string(TEST_DATA_DIR "/") + given.data_file);
    }
    const faults::FailingAt failing(index);
    const Error error = execute_twice(input, data_files, numbers);
    failed_ = failing.failed();
    return error;
  }

  Error execute_twice(const TensorPtr& input, const std::vector<std::string>& data_files,
                      std::vector<float>* numbers) {
    const ModuleCase& given = GetParam();
    std::shared_ptr<TaskThreads> threads;
    if (given.is_async) {
      threads = ET_UNWRAP(TaskThreads::start(2));
    }
    Module module(path_, data_files, given.mode);
    for (int execution = 0; execution < 2; ++execution) {
      if (threads != nullptr) {
        auto running = ET_UNWRAP(module.execute_async(given.method, {input}, *threads));
        ET_CHECK_OK_OR_RETURN_ERROR(running.wait());
        read(ET_UNWRAP(module.get_outputs(given.method)), numbers);
      } else {
        read(ET_UNWRAP(module.execute(given.method, {input})), numbers);
      }
    }
    return Error::Ok;
  }

  static void read(const std::vector<runtime::EValue>& outputs, std::vector<float>* numbers) {
    const auto& tensor = outputs.at(0).toTensor();
    const auto* data = tensor.const_data_ptr<float>();
    numbers->assign(data, data + tensor.numel());
  }

  std::string folder_;
  std::string path_;
  const char* failed_ = nullptr;
};

TEST_P(EveryFault, IsAnErrorOrChangesNothing) {
  constexpr int64_t kNone = INT64_MAX;
  std::vector<float> expected, output;
  // The first run creates what exists once in the process.
  ASSERT_EQ(run(kNone, &expected), Error::Ok);
  const LogCapture log;
  const size_t files = open_files();
  int64_t points = 0;
  int64_t errors = 0;
  std::set<std::string> failed;
  for (;; ++points) {
    output.clear();
    const Error error = run(points, &output);
    if (failed_ == nullptr) {
      EXPECT_EQ(error, Error::Ok);
      break;
    }
    failed.insert(failed_);
    errors += error != Error::Ok ? 1 : 0;
    EXPECT_TRUE(error != Error::Ok || output == expected)
        << "point " << points << ", " << failed_ << ": another result";
    EXPECT_EQ(open_files(), files) << "point " << points << ", " << failed_;
    ASSERT_EQ(run(kNone, &output), Error::Ok) << "after point " << points << ", " << failed_;
    EXPECT_EQ(output, expected) << "after point " << points << ", " << failed_;
  }
  // --gtest_output=xml:FILE reports the number of points.
  RecordProperty("points", static_cast<int>(points));
  EXPECT_GE(points, 3) << "the file is opened, looked at and read";
  EXPECT_GE(errors, 3);
  EXPECT_EQ(failed.count("pthread_create"), GetParam().is_async ? 1u : 0u);
  const std::string file = GetParam().file;
  const bool is_delegated = file.find("demo") == 0 || file.find("xnnpack") == 0;
  EXPECT_EQ(failed.count("init"), is_delegated ? 1u : 0u);
  EXPECT_EQ(failed.count("execute"), is_delegated ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, EveryFault,
    ::testing::Values(
        ModuleCase{"peer/conv.pte", "forward", {1, 3, 16, 16}},
        ModuleCase{"peer/conv.pte", "forward", {1, 3, 16, 16}, Module::LoadMode::Mmap},
        ModuleCase{"peer/conv.pte", "forward", {1, 3, 16, 16}, Module::LoadMode::MmapUseMlock},
        ModuleCase{
            "peer/conv.pte", "forward", {1, 3, 16, 16}, Module::LoadMode::MmapUseMlockIgnoreErrors},
        ModuleCase{"peer/conv.pte", "forward", {1, 3, 16, 16}, Module::LoadMode::MmapUseMadvise},
        ModuleCase{"peer/external.pte",
                   "forward",
                   {1, 3},
                   Module::LoadMode::File,
                   false,
                   "peer/external.ptd"},
        ModuleCase{"peer/external.pte",
                   "forward",
                   {1, 3},
                   Module::LoadMode::Mmap,
                   false,
                   "peer/external.ptd"},
        ModuleCase{"peer/mlp_dynamic.pte", "forward", {3, 8}, Module::LoadMode::Mmap},
        ModuleCase{"demo/cond_true.pte", "forward", {2, 2}},
        ModuleCase{"demo/shifted.pte", "forward", {4, 3}, Module::LoadMode::Mmap},
        ModuleCase{"int8/images.pte", "forward", {1, 3, 8, 8}, Module::LoadMode::File, true},
        ModuleCase{"xnnpack/two_sizes.pte", "small", {1, 3, 8, 8}, Module::LoadMode::Mmap},
        ModuleCase{"xnnpack/quantized.pte", "forward", {1, 3, 8, 8}}),
    [](const ::testing::TestParamInfo<ModuleCase>& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace executorch::testing
