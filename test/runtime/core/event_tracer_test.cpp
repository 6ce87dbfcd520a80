// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The hooks with tracing compiled in; without it they are empty functions.
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/log_capture.h"
#include "runtime/silent_tracer.h"

using namespace executorch::runtime;

namespace {

/// Records its calls.
class Recorder final : public executorch::testing::SilentTracer {
 public:
  std::string record;
  Error log_error = Error::Ok;

  void create_event_block(const char* name) override {
    record += std::string("block ") + name + ";";
  }
  EventTracerEntry start_profiling(const char* name, ChainID chain, DebugHandle) override {
    record += std::string("start ") + name + ";";
    EventTracerEntry entry;
    entry.event_id = 7;
    entry.chain_id = chain;
    return entry;
  }
  void end_profiling(EventTracerEntry entry) override {
    record += "end " + std::to_string(entry.event_id) + ";";
  }
  AllocatorID track_allocator(const char* name) override {
    record += std::string("allocator ") + name + ";";
    return 3;
  }
  void track_allocation(AllocatorID id, size_t size) override {
    record += "allocated " + std::to_string(id) + " " + std::to_string(size) + ";";
  }
  Result<bool> log_evalue(const EValue& value, LoggedEValueType type) override {
    record += "value " + std::to_string(value.toInt()) + " " +
              std::to_string(static_cast<int>(type)) + ";";
    if (log_error != Error::Ok) {
      return log_error;
    }
    return true;
  }
};

TEST(EventTracerHooksTest, ScopesBeginAndEndEvents) {
  Recorder tracer;
  {
    internal::EventTracerProfileMethodScope method(&tracer, "execute");
    internal::EventTracerProfileInstructionScope instruction(&tracer, 2, 5);
    EXPECT_EQ(tracer.current_chain_id(), 2);
    EXPECT_EQ(tracer.current_debug_handle(), 5u);
    internal::EventTracerProfileOpScope op(&tracer, "add");
  }
  EXPECT_EQ(tracer.record, "start execute;start add;end 7;end 7;");
  EXPECT_EQ(tracer.current_chain_id(), kUnsetChainId);
}

TEST(EventTracerHooksTest, OperatorsAreLeftOutAtTheLevelOfMethods) {
  Recorder tracer;
  tracer.set_event_tracer_profiling_level(EventTracerProfilingLevel::kProfileMethodOnly);
  {
    internal::EventTracerProfileOpScope op(&tracer, "add");
  }
  {
    internal::EventTracerProfileMethodScope method(&tracer, "execute");
  }
  EXPECT_EQ(tracer.record, "start execute;end 7;");
}

TEST(EventTracerHooksTest, ValuesAreLoggedAccordingToTheLevel) {
  LogCapture log;
  Recorder tracer;
  const EValue value(int64_t{4});
  internal::event_tracer_log_evalue(&tracer, value);
  internal::event_tracer_log_evalue_output(&tracer, value);
  EXPECT_EQ(tracer.record, "");
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kProgramOutputs);
  internal::event_tracer_log_evalue(&tracer, value);
  internal::event_tracer_log_evalue_output(&tracer, value);
  EXPECT_EQ(tracer.record, "value 4 1;");
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs);
  tracer.log_error = Error::OutOfResources;
  internal::event_tracer_log_evalue(&tracer, value);
  EXPECT_EQ(tracer.record, "value 4 1;value 4 0;");
  EXPECT_TRUE(log.contains("Error::OutOfResources"));
}

TEST(EventTracerHooksTest, TheStatusOfIntermediateOutputsFollowsTheLevel) {
  Recorder tracer;
  EXPECT_FALSE(tracer.intermediate_outputs_logging_status());
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kProgramOutputs);
  EXPECT_FALSE(tracer.intermediate_outputs_logging_status());
  tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs);
  EXPECT_TRUE(tracer.intermediate_outputs_logging_status());
}

TEST(EventTracerHooksTest, WithoutATracerNothingHappens) {
  internal::EventTracerProfileMethodScope method(nullptr, "execute");
  internal::EventTracerProfileOpScope op(nullptr, "add");
  internal::EventTracerProfileInstructionScope instruction(nullptr, 2, 5);
  internal::event_tracer_create_event_block(nullptr, "x");
  internal::event_tracer_log_evalue(nullptr, EValue());
  internal::event_tracer_set_bundled_input_index(nullptr, 1);
  EXPECT_EQ(internal::event_tracer_track_allocator(nullptr, "x"), 0u);
  EXPECT_EQ(internal::event_tracer_begin_profiling_event(nullptr, "x").event_id, -1);
}

TEST(EventTracerHooksTest, OtherHooksCallTheTracer) {
  Recorder tracer;
  internal::event_tracer_create_event_block(&tracer, "run");
  const AllocatorID id = internal::event_tracer_track_allocator(&tracer, "method");
  internal::event_tracer_track_allocation(&tracer, id, 16);
  internal::event_tracer_end_profiling_event(
      &tracer, internal::event_tracer_begin_profiling_event(&tracer, "load"));
  internal::event_tracer_set_bundled_input_index(&tracer, 1);
  EXPECT_EQ(tracer.record, "block run;allocator method;allocated 3 16;start load;end 7;");
  EXPECT_EQ(tracer.bundled_input_index(), 1);
}

}  // namespace
