// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Backends report events and outputs to an event tracer; a filter selects outputs.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <vector>

#include <executorch/devtools/etdump/etdump_filter.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>

namespace {

using executorch::aten::ScalarType;
using executorch::etdump::ETDumpFilter;
using executorch::etdump::ETDumpGen;
using executorch::runtime::Error;
using executorch::runtime::event_tracer_end_profiling_delegate;
using executorch::runtime::event_tracer_log_output_delegate;
using executorch::runtime::event_tracer_log_profiling_delegate;
using executorch::runtime::event_tracer_start_profiling_delegate;
using executorch::runtime::kUnsetDelegateDebugIntId;

TEST(DelegateTracingTest, ANullTracerRecordsNothing) {
  const auto entry = event_tracer_start_profiling_delegate(nullptr, "a", kUnsetDelegateDebugIntId);
  event_tracer_end_profiling_delegate(nullptr, entry);
  event_tracer_log_profiling_delegate(nullptr, nullptr, 1, 0, 1);
  event_tracer_log_output_delegate(nullptr, "a", kUnsetDelegateDebugIntId, 1.0);
}

TEST(DelegateTracingTest, EventsAndOutputsAreRecorded) {
  ETDumpGen etdump;
  uint8_t debug_buffer[2048];
  ASSERT_TRUE(etdump.set_debug_buffer({debug_buffer, sizeof debug_buffer}).ok());
  etdump.create_event_block("execute");
  const auto entry =
      event_tracer_start_profiling_delegate(&etdump, "kernel", kUnsetDelegateDebugIntId);
  event_tracer_end_profiling_delegate(&etdump, entry, "meta", 4);
  event_tracer_log_profiling_delegate(&etdump, nullptr, 3, 10, 20);
  executorch::runtime::testing::TensorFactory<ScalarType::Float> tf;
  event_tracer_log_output_delegate(&etdump, nullptr, 3, tf.ones({2}));
  event_tracer_log_output_delegate(&etdump, "flag", kUnsetDelegateDebugIntId, true);
  const auto result = etdump.get_etdump_data();
  ASSERT_NE(result.buf, nullptr);
  const std::string bytes(static_cast<const char*>(result.buf), result.size);
  EXPECT_NE(bytes.find("kernel"), std::string::npos);
  EXPECT_NE(bytes.find("flag"), std::string::npos);
  EXPECT_EQ(etdump.dropped_events(), 0u);
  free(result.buf);
}

TEST(ETDumpFilterTest, WithoutPatternsOrRangeEverythingPasses) {
  ETDumpFilter filter;
  EXPECT_TRUE(*filter.filter("anything", kUnsetDelegateDebugIntId));
  EXPECT_TRUE(*filter.filter(nullptr, 258));
}

TEST(ETDumpFilterTest, ANameMatchesOneOfThePatternsAsAWhole) {
  ETDumpFilter filter;
  ASSERT_TRUE(filter.add_regex("conv\\d+").ok());
  ASSERT_TRUE(filter.add_regex("event.*").ok());
  EXPECT_EQ(filter.get_n_regex(), 2u);
  EXPECT_TRUE(*filter.filter("conv12", kUnsetDelegateDebugIntId));
  EXPECT_TRUE(*filter.filter("event_a", kUnsetDelegateDebugIntId));
  EXPECT_FALSE(*filter.filter("my_conv12", kUnsetDelegateDebugIntId));
}

TEST(ETDumpFilterTest, ANumberIsInTheRange) {
  ETDumpFilter filter;
  ASSERT_TRUE(filter.set_debug_handle_range(10, 20).ok());
  EXPECT_TRUE(*filter.filter(nullptr, 10));
  EXPECT_FALSE(*filter.filter(nullptr, 20));
}

TEST(ETDumpFilterTest, WrongArgumentsAreRefused) {
  ETDumpFilter filter;
  EXPECT_EQ(filter.add_regex("(").error(), Error::InvalidArgument);
  EXPECT_EQ(filter.get_n_regex(), 0u);
  EXPECT_EQ(filter.set_debug_handle_range(5, 5).error(), Error::InvalidArgument);
  EXPECT_EQ(filter.filter("name", 5).error(), Error::InvalidArgument);
  EXPECT_EQ(filter.filter(nullptr, kUnsetDelegateDebugIntId).error(), Error::InvalidArgument);
}

TEST(ETDumpFilterTest, AnETDumpRecordsWhatItsFilterLetsThrough) {
  ETDumpGen etdump;
  ETDumpFilter filter;
  ASSERT_TRUE(filter.add_regex("kept").ok());
  etdump.set_delegation_intermediate_output_filter(&filter);
  etdump.create_event_block("execute");
  EXPECT_TRUE(*etdump.log_intermediate_output_delegate("kept", kUnsetDelegateDebugIntId, 1.0));
  EXPECT_FALSE(*etdump.log_intermediate_output_delegate("other", kUnsetDelegateDebugIntId, 1.0));
}

}  // namespace
