// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Modules that several threads load, execute, cancel and destroy at the same time, beside fork()
// and the end of the process. test/thread_sanitizer.sh runs it under ThreadSanitizer.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
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
using executorch::runtime::Execution;

constexpr int kThreads = 4;
constexpr int kRounds = 12;
constexpr char kConcurrent[] = TEST_DATA_DIR "/int8/images.pte";

/// A program, and the sizes of its one input.
struct Subject {
  const char* path;
  std::vector<int32_t> sizes;
};

const std::vector<Subject>& subjects() {
  // Never destroyed: threads use it while the process ends.
  static const auto* const all = new std::vector<Subject>{
      {TEST_DATA_DIR "/peer/conv.pte", {1, 3, 16, 16}},
      {TEST_DATA_DIR "/peer/mlp_dynamic.pte", {3, 8}},
      {kConcurrent, {1, 3, 8, 8}},
  };
  return *all;
}

std::vector<float> numbers_of(const std::vector<executorch::runtime::EValue>& outputs) {
  const auto& tensor = outputs.at(0).toTensor();
  const auto* data = tensor.const_data_ptr<float>();
  return {data, data + tensor.numel()};
}

std::vector<float> run_once(Module& module, const std::vector<int32_t>& sizes) {
  const TensorPtr input = ones(sizes);
  const auto outputs = module.execute("forward", {input});
  return outputs.ok() ? numbers_of(*outputs) : std::vector<float>();
}

template <typename Work>
void on_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&work, i] { work(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

class ModuleLifetimeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

TEST_F(ModuleLifetimeTest, ModulesAreLoadedExecutedAndDestroyedOnSeveralThreads) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.path);
    Module oracle(subject.path);
    const std::vector<float> expected = run_once(oracle, subject.sizes);
    ASSERT_FALSE(expected.empty());
    std::atomic<int> wrong{0};
    on_threads([&](int) {
      for (int round = 0; round < kRounds; ++round) {
        Module module(subject.path,
                      round % 2 == 0 ? Module::LoadMode::Mmap : Module::LoadMode::File);
        wrong += run_once(module, subject.sizes) == expected ? 0 : 1;
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(ModuleLifetimeTest, MethodsOfOneProgramAreMadeAndDestroyedOnSeveralThreads) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.path);
    Module oracle(subject.path);
    const std::vector<float> expected = run_once(oracle, subject.sizes);
    std::atomic<int> wrong{0};
    on_threads([&](int) {
      for (int round = 0; round < kRounds; ++round) {
        Module module(oracle.program());
        wrong += run_once(module, subject.sizes) == expected ? 0 : 1;
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(ModuleLifetimeTest, ExecutionsAreCancelledFromOtherThreadsAtAnyTime) {
  auto pool = TaskThreads::start(3);
  ASSERT_TRUE(pool.ok());
  Module oracle(kConcurrent);
  const TensorPtr input = ones({1, 3, 8, 8});
  const std::vector<float> expected = run_once(oracle, {1, 3, 8, 8});
  on_threads([&](int thread) {
    Module module(oracle.program());
    for (int round = 0; round < kRounds; ++round) {
      auto execution = module.execute_async("forward", {input}, **pool);
      ASSERT_TRUE(execution.ok());
      std::thread canceller([&] {
        for (int i = 0; i < thread * 50 * round; ++i) {
          (void)execution->done();
        }
        execution->cancel();
      });
      const Error ended = execution->wait();
      canceller.join();
      EXPECT_TRUE(ended == Error::Ok || execution->was_cancelled());
      // The next execution begins anew.
      EXPECT_EQ(run_once(module, {1, 3, 8, 8}), expected);
    }
  });
}

TEST_F(ModuleLifetimeTest, ExecutionsAreDestroyedBeforeTheyEnd) {
  auto pool = TaskThreads::start(3);
  ASSERT_TRUE(pool.ok());
  const TensorPtr input = ones({1, 3, 8, 8});
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      Module module(kConcurrent);
      auto execution = module.execute_async("forward", {input}, **pool);
      ASSERT_TRUE(execution.ok());
      // Execution, then module, are destroyed while other threads work on them.
    }
  });
}

/// AddressSanitizer's allocator, unlike the C library's, stays locked in a process that fork()
/// makes while another thread allocates.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kAllocatorForks = false;
#else
constexpr bool kAllocatorForks = true;
#endif

TEST_F(ModuleLifetimeTest, AProcessThatForkMakesExecutesWhileItsParentDoes) {
  Module module(subjects()[0].path);
  const std::vector<int32_t>& sizes = subjects()[0].sizes;
  const std::vector<float> expected = run_once(module, sizes);
  std::atomic<bool> is_over{false};
  std::mutex allocating;
  std::thread beside([&] {
    Module other(subjects()[0].path);
    while (!is_over) {
      {
        const std::lock_guard<std::mutex> lock(allocating);
        (void)run_once(other, sizes);
      }
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 4; ++round) {
    std::unique_lock<std::mutex> lock(allocating, std::defer_lock);
    if (!kAllocatorForks) lock.lock();
    const pid_t child = fork();
    if (child == 0) {
      _exit(run_once(module, sizes) == expected ? 0 : 1);
    }
    if (lock.owns_lock()) lock.unlock();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  is_over = true;
  beside.join();
}

/// Ends the process while threads load, execute and destroy, and a pool executes.
[[noreturn]] void exit_while_threads_execute() {
  executorch::runtime::runtime_init();
  static std::atomic<int> executions{0};
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      for (;;) {
        Module module(subjects()[0].path);
        (void)run_once(module, subjects()[0].sizes);
        ++executions;
      }
    }).detach();
  }
  while (executions < 6) {
    usleep(1000);
  }
  exit(0);
}

TEST(ModuleLifetimeDeathTest, TheProcessEndsWhileThreadsExecute) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  // The memory of threads that still run is not a leak. Options of whole_suite.py are kept.
  const char* const given = getenv("ASAN_OPTIONS");
  const std::string options = given == nullptr ? "" : given;
  setenv("ASAN_OPTIONS", (options + ":detect_leaks=0").c_str(), 1);
  EXPECT_EXIT(exit_while_threads_execute(), ::testing::ExitedWithCode(0), "");
  setenv("ASAN_OPTIONS", options.c_str(), 1);
}

}  // namespace
