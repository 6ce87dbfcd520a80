// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The default of max_workspace_bytes.
#include <executorch/backends/xnnpack/runtime/backend_options.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "runtime/log_capture.h"
#include "utils/no_descriptors.h"

namespace executorch::backends::xnnpack {
namespace {

/// Exits with 0 if settings made without descriptors read the limits of control groups each time.
[[noreturn]] void use_settings_without_descriptors() {
  runtime::runtime_init();
  const LogCapture log;
  bool is_right = true;
  for (const size_t failures : {1u, 2u}) {
    const executorch::testing::NoDescriptors none;
    is_right =
        is_right && current_settings().workspace_limit() > 0 && log.messages().size() == failures;
  }
  exit(is_right ? 0 : 1);
}

TEST(DefaultLimitDeathTest, IsReadAgainAfterThereWasNoDescriptor) {
  // The child process starts anew, so it reads the limits itself.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(use_settings_without_descriptors(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace executorch::backends::xnnpack
