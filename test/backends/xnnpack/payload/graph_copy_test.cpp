// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/graph_copy.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

TEST(GraphCopy, GraphsOfAllDelegatesHaveALimitTogether) {
  runtime::runtime_init();
  const std::vector<uint8_t> bytes(100, 7);
  auto first = copy_graph({bytes.data(), bytes.size()});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)->size(), 13u);
  EXPECT_EQ((*first)->front(), 0x0707070707070707u);
  EXPECT_EQ((*first)->back(), 0x07070707u);
  for (int i = 0; i < 3; ++i) {
    const LogCapture log;
    // The size is refused before a byte is read.
    EXPECT_EQ(copy_graph({bytes.data(), max_graph_bytes()}).error(), Error::MemoryAllocationFailed);
    EXPECT_TRUE(log.contains("the graphs of all delegates have"));
  }
  EXPECT_TRUE(copy_graph({bytes.data(), bytes.size()}).ok());
}

}  // namespace
}  // namespace executorch::backends::xnnpack
