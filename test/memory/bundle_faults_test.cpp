// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
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

}  // namespace
}  // namespace executorch::testing
