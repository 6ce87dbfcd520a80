// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// State that delegates share, and options that change it.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <backends/xnnpack/two_sizes.h>
#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::backends::xnnpack {
namespace {

using extension::Module;
using extension::threadpool::ThreadPool;
using runtime::Error;

size_t packed_bytes() { return PackedWeights::of_process().size().bytes; }

TEST(Delegates, PackedWeightsExistOnce) {
  runtime::runtime_init();
  ASSERT_EQ(packed_bytes(), 0u);
  const std::unique_ptr<Module> first = two_sizes();
  const std::unique_ptr<Module> second = two_sizes();
  EXPECT_TRUE(matches_eager(*first, "small"));
  const size_t once = packed_bytes();
  EXPECT_GT(once, 0u);
  EXPECT_TRUE(matches_eager(*first, "large"));
  EXPECT_TRUE(matches_eager(*second, "large"));
  EXPECT_EQ(packed_bytes(), once);
  EXPECT_TRUE(first->unload_method("small"));
  EXPECT_TRUE(first->unload_method("large"));
  EXPECT_EQ(packed_bytes(), once);
  EXPECT_TRUE(matches_eager(*second, "large"));
  EXPECT_TRUE(second->unload_method("large"));
  EXPECT_EQ(packed_bytes(), 0u);
}

TEST(Delegates, RunWithoutTheCacheOfWeights) {
  runtime::runtime_init();
  LoadOptions<1> without;
  ASSERT_EQ(without.options.set_option(weight_cache_option_key, false), Error::Ok);
  const std::unique_ptr<Module> module = two_sizes();
  ASSERT_EQ(module->load_method("small", nullptr, nullptr, without.map()), Error::Ok);
  EXPECT_EQ(packed_bytes(), 0u);
  EXPECT_TRUE(matches_eager(*module, "small"));
}

TEST(Delegates, TheirScratchIsKnownAtLoadAndSharedByProgram) {
  runtime::runtime_init();
  const auto scratch = [](Module& module, const char* method, WorkspaceSharingMode mode) {
    LoadOptions<1> with;
    EXPECT_EQ(with.options.set_option(workspace_sharing_mode_option_key, static_cast<int>(mode)),
              Error::Ok);
    EXPECT_EQ(module.load_method(method, nullptr, nullptr, with.map()), Error::Ok);
    return (*module.method(method))->delegate_scratch_size();
  };
  const std::unique_ptr<Module> shared = two_sizes();
  const size_t small = scratch(*shared, "small", WorkspaceSharingMode::PerModel);
  EXPECT_GT(small, 0u);
  const size_t large = scratch(*shared, "large", WorkspaceSharingMode::PerModel);
  EXPECT_GT(large, small);
  // It has grown for both.
  EXPECT_EQ((*shared->method("small"))->delegate_scratch_size(), large);
  EXPECT_TRUE(matches_eager(*shared, "small"));
  EXPECT_TRUE(matches_eager(*shared, "large"));
  EXPECT_EQ((*shared->method("large"))->delegate_scratch_size(), large);

  const std::unique_ptr<Module> apart = two_sizes();
  EXPECT_EQ(scratch(*apart, "large", WorkspaceSharingMode::Disabled), large);
  EXPECT_EQ(scratch(*apart, "small", WorkspaceSharingMode::Disabled), small);
  EXPECT_TRUE(matches_eager(*apart, "small"));
}

TEST(Delegates, OptionsOfTheProcessAreChecked) {
  runtime::BackendOptions<1> options;
  ASSERT_EQ(options.set_option(workspace_sharing_mode_option_key, 3), Error::Ok);
  EXPECT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::InvalidArgument);
  ASSERT_EQ(options.set_option(workspace_sharing_mode_option_key, true), Error::Ok);
  EXPECT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::InvalidArgument);
  runtime::BackendOptions<1> unknown;
  ASSERT_EQ(unknown.set_option("no such option", 1), Error::Ok);
  EXPECT_EQ(runtime::set_option(xnnpack_backend_key, unknown.view()), Error::NotFound);
  int mode = -1;
  EXPECT_EQ(runtime::get_option(xnnpack_backend_key, options.view()), Error::Ok);
  EXPECT_EQ(options.get_option(workspace_sharing_mode_option_key, mode), Error::Ok);
  EXPECT_EQ(mode, static_cast<int>(WorkspaceSharingMode::PerModel));
}

TEST(Delegates, OneThatNeedsTooMuchScratchMemoryIsRefused) {
  runtime::runtime_init();
  LoadOptions<1> limited;
  ASSERT_EQ(limited.options.set_option(max_workspace_bytes_option_key, 1), Error::Ok);
  const std::unique_ptr<Module> module = two_sizes();
  EXPECT_EQ(module->load_method("small", nullptr, nullptr, limited.map()),
            Error::MemoryAllocationFailed);
  ASSERT_EQ(module->load_method("small"), Error::Ok);
  EXPECT_TRUE(matches_eager(*module, "small"));
}

TEST(Delegates, TheLimitOfScratchMemoryIsAnIntOrDigits) {
  runtime::BackendOptions<1> options;
  int bytes = -1;
  ASSERT_EQ(options.set_option(max_workspace_bytes_option_key, 4096), Error::Ok);
  ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::Ok);
  ASSERT_EQ(runtime::get_option(xnnpack_backend_key, options.view()), Error::Ok);
  EXPECT_EQ(options.get_option(max_workspace_bytes_option_key, bytes), Error::Ok);
  EXPECT_EQ(bytes, 4096);
  const char* digits = nullptr;
  ASSERT_EQ(options.set_option(max_workspace_bytes_option_key, "17179869184"), Error::Ok);
  ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::Ok);
  ASSERT_EQ(runtime::get_option(xnnpack_backend_key, options.view()), Error::Ok);
  EXPECT_EQ(options.get_option(max_workspace_bytes_option_key, digits), Error::Ok);
  EXPECT_STREQ(digits, "17179869184");
  for (const char* wrong : {"", "x", "1 ", "99999999999999999999"}) {
    ASSERT_EQ(options.set_option(max_workspace_bytes_option_key, wrong), Error::Ok);
    EXPECT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::InvalidArgument);
  }
  ASSERT_EQ(options.set_option(max_workspace_bytes_option_key, 0), Error::Ok);
  EXPECT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::Ok);
}

/// Loads and runs on `threads` threads at once, each with its own module on `pool(i)`.
template <typename Pool>
void run_at_once(size_t threads, int rounds, const LoadOptions<1>* options, const Pool& pool,
                 const std::shared_ptr<runtime::Program>& program) {
  std::atomic<size_t> right{0};
  std::vector<std::thread> users;
  for (size_t i = 0; i < threads; ++i) {
    users.emplace_back([&, i] {
      Module module(program);
      module.set_thread_pool(pool(i));
      LoadOptions<1> own;
      if (options != nullptr) {
        own = *options;
      }
      const std::string method = i % 2 == 0 ? "small" : "large";
      if (module.load_method(method, nullptr, nullptr, own.map()) != Error::Ok) {
        return;
      }
      for (int round = 0; round < rounds; ++round) {
        right += matches_eager(module, method) ? 1 : 0;
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  EXPECT_EQ(right.load(), threads * static_cast<size_t>(rounds));
}

TEST(Delegates, MethodsOfAProgramRunOnSeveralThreads) {
  runtime::runtime_init();
  const std::unique_ptr<Module> module = two_sizes();
  ASSERT_EQ(module->load(), Error::Ok);
  const std::shared_ptr<ThreadPool> one = std::make_shared<ThreadPool>(2);
  run_at_once(4, 10, nullptr, [&one](size_t) { return one; }, module->program());
  run_at_once(
      4, 10, nullptr, [](size_t i) { return std::make_shared<ThreadPool>(1 + i % 3); },
      module->program());
  LoadOptions<1> global;
  ASSERT_EQ(global.options.set_option(workspace_sharing_mode_option_key, 2), Error::Ok);
  run_at_once(
      4, 10, &global, [](size_t i) { return std::make_shared<ThreadPool>(1 + i % 2); },
      module->program());
  EXPECT_EQ(packed_bytes(), 0u);
}

TEST(Delegates, OptionsOfTheProcessChangeWhileOthersLoadAndExecute) {
  runtime::runtime_init();
  const std::unique_ptr<Module> module = two_sizes();
  ASSERT_EQ(module->load(), Error::Ok);
  const std::string cache = ::testing::TempDir() + "options_of_the_process.cache";
  std::atomic<bool> is_over{false};
  std::thread changes([&] {
    runtime::BackendOptions<3> options;
    for (int round = 0; !is_over || round % 6 != 0; ++round) {
      ASSERT_EQ(options.set_option(workspace_sharing_mode_option_key, (round + 1) % 3), Error::Ok);
      ASSERT_EQ(options.set_option(weight_cache_option_key, round % 2 != 0), Error::Ok);
      ASSERT_EQ(options.set_option(packed_cache_path_option_key,
                                   (round + 1) % 6 < 3 ? "" : cache.c_str()),
                Error::Ok);
      ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::Ok);
      ASSERT_EQ(runtime::get_option(xnnpack_backend_key, options.view()), Error::Ok);
    }
    ASSERT_EQ(options.set_option(packed_cache_path_option_key, ""), Error::Ok);
    ASSERT_EQ(runtime::set_option(xnnpack_backend_key, options.view()), Error::Ok);
  });
  for (int round = 0; round < 5; ++round) {
    run_at_once(
        3, 3, nullptr, [](size_t i) { return std::make_shared<ThreadPool>(1 + i % 2); },
        module->program());
  }
  is_over = true;
  changes.join();
  std::filesystem::remove(cache);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
