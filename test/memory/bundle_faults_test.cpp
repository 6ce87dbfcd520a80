// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every request to the heap fails once while the inputs of a bundle's test case are set.
#include <executorch/extension/module/bundled_module.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "devtools/bundled_program/loaded_bundle.h"
#include "memory/heap_interposition.h"

namespace executorch::testing {
namespace {

TEST(BundleFaults, InputsThatCannotBeAllocatedAreAnErrorAndLeaveNothing) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  LoadedBundle loaded(three_cases());
  ASSERT_EQ(loaded.status, runtime::Error::Ok);
  const auto test_case =
      bundled_program::Bundle::of_accepted(loaded.bundle.data()).suite_of("forward")->test_case(0);
  ASSERT_TRUE(test_case.ok());
  const int64_t alive = heap::live_blocks();
  int64_t requests = 0;
  for (bool has_failed = true; has_failed; ++requests) {
    const heap::FailingAt failing(requests);
    const auto inputs = bundled_program::set_inputs(loaded.method(), *test_case);
    has_failed = failing.has_failed();
    EXPECT_EQ(inputs.error(),
              has_failed ? runtime::Error::MemoryAllocationFailed : runtime::Error::Ok);
  }
  EXPECT_GT(requests, 3);  // a list, two inputs, and the run without a failure
  EXPECT_EQ(heap::live_blocks(), alive);
}

TEST(BundleFaults, AModuleReportsAnErrorAndItsMethodUsesNoFreedInput) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  AlignedBundle bundle(three_cases());
  const void* program = nullptr;
  size_t size = 0;
  ASSERT_EQ(bundled_program::get_program_data(bundle.data(), bundle.size, &program, &size),
            runtime::Error::Ok);
  int64_t requests = 0;
  for (bool has_failed = true; has_failed; ++requests) {
    extension::BundledModule module(bundle.data());
    ASSERT_EQ(module.load_method("forward"), runtime::Error::Ok);
    {
      const heap::FailingAt failing(requests);
      const runtime::Error error = module.execute("forward", 0).error();
      has_failed = failing.has_failed();
      EXPECT_EQ(error, has_failed ? runtime::Error::MemoryAllocationFailed : runtime::Error::Ok)
          << "request " << requests;
    }
    const auto method = module.method("forward");
    ASSERT_TRUE(method.ok());
    const runtime::Error again = (*method)->execute();
    if (again == runtime::Error::Ok) {
      EXPECT_EQ(module.verify_method_outputs("forward", 0), runtime::Error::Ok)
          << "request " << requests;
    } else {
      EXPECT_EQ(again, runtime::Error::InvalidState) << "request " << requests;
    }
    ASSERT_TRUE(module.execute("forward", 0).ok()) << "request " << requests;
    EXPECT_EQ(module.verify_method_outputs("forward", 0), runtime::Error::Ok);
  }
  EXPECT_GT(requests, 4);
}

}  // namespace
}  // namespace executorch::testing
