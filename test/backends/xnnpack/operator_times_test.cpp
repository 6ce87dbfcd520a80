// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <backends/xnnpack/two_sizes.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/silent_tracer.h"

namespace executorch::backends::xnnpack {
namespace {

using runtime::DelegateDebugIntId;

/// Collects the operator events of delegates.
class Listener final : public testing::SilentTracer {
 public:
  std::multiset<std::string> names;
  et_timestamp_t last_end = 0;
  bool in_order = true;

  void log_profiling_delegate(const char* name, DelegateDebugIntId, et_timestamp_t start,
                              et_timestamp_t end, const void*, size_t) override {
    names.insert(name);
    in_order = in_order && start >= last_end && end >= start;
    last_end = end;
  }
};

TEST(OperatorTimes, AreReportedForEachOperatorOfEachRun) {
  runtime::runtime_init();
  Listener listener;
  const std::unique_ptr<extension::Module> module = two_sizes();
  ASSERT_EQ(module->load_method("small", nullptr, &listener), runtime::Error::Ok);
  EXPECT_TRUE(listener.names.empty());
  EXPECT_TRUE(matches_eager(*module, "small"));
  EXPECT_GE(listener.names.size(), 5u);
  const std::string depthwise = "Convolution (NHWC, F32) DWConv #1 [";
  const auto name = listener.names.lower_bound(depthwise);
  ASSERT_NE(name, listener.names.end());
  EXPECT_EQ(name->compare(0, depthwise.size(), depthwise), 0);
  for (const std::string& name : listener.names) {
    EXPECT_EQ(name.back(), ']') << name;
  }
  EXPECT_TRUE(listener.in_order);
  const size_t once = listener.names.size();
  EXPECT_TRUE(matches_eager(*module, "small"));
  EXPECT_EQ(listener.names.size(), 2 * once);
}

TEST(OperatorTimes, AreNotReportedWhereOnlyMethodsAreProfiled) {
  runtime::runtime_init();
  Listener listener;
  listener.set_event_tracer_profiling_level(runtime::EventTracerProfilingLevel::kProfileMethodOnly);
  const std::unique_ptr<extension::Module> module = two_sizes();
  ASSERT_EQ(module->load_method("small", nullptr, &listener), runtime::Error::Ok);
  EXPECT_TRUE(matches_eager(*module, "small"));
  EXPECT_TRUE(listener.names.empty());
}

}  // namespace
}  // namespace executorch::backends::xnnpack
