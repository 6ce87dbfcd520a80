// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The backend of EXECUTORCH_XNNPACK_LIBRARY=NONE: this program has that build's source, whose
// functions the linker takes before those of XNNPACK's operators.
#include <string>

#include <gtest/gtest.h>

#include <backends/xnnpack/two_sizes.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

TEST(EngineAlone, RunsFloat32Models) {
  runtime::runtime_init();
  const std::unique_ptr<extension::Module> module = two_sizes();
  EXPECT_TRUE(gives_eagers_numbers(*module, "small"));
  EXPECT_TRUE(gives_eagers_numbers(*module, "large"));
}

TEST(EngineAlone, RefusesByNameWhatOnlyXnnpackComputes) {
  runtime::runtime_init();
  extension::Module module(TEST_DATA_DIR "/xnnpack/quantized.pte");
  LogCapture log;
  EXPECT_EQ(module.load_method("forward"), Error::NotSupported);
  EXPECT_TRUE(log.contains("node Convert on Float32 to QInt8 needs XNNPACK")) << log.text();
}

}  // namespace
}  // namespace executorch::backends::xnnpack
