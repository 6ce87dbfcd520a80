// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tracers receive only tensors that have memory, even if a program has some without memory.
#include <gtest/gtest.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/relations.h"
#include "runtime/silent_tracer.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

/// Reads every tensor that it is given.
class ReadingTracer final : public SilentTracer {
 public:
  ReadingTracer() {
    set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
  }
  Result<bool> log_evalue(const EValue& value, runtime::LoggedEValueType) override {
    ++values;
    if (value.isTensor()) {
      const aten::Tensor& tensor = value.toTensor();
      EXPECT_TRUE(tensor.const_data_ptr() != nullptr || tensor.numel() == 0);
    }
    return true;
  }

  int values = 0;
};

/// Executes with an input of the caller's. Returns how many values the tracer was given.
int traced(const TestProgram& source) {
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 64);
  ReadingTracer tracer;
  const auto method = program->load_method("forward", &memory.manager(), &tracer);
  EXPECT_EQ(method.error(), Error::Ok);
  FloatTensor given({1, 2});
  auto& loaded = const_cast<runtime::Method&>(*method);
  EXPECT_EQ(loaded.set_input(given.value(), 0), Error::Ok);
  EXPECT_EQ(loaded.execute(), Error::Ok);
  return tracer.values;
}

TestProgram view_of_the_input() {
  TestProgram program = related_program();
  plan(program).inputs = {kGiven};
  plan(program).outputs = {kView};
  code(program) = {view_of(kGiven, kView)};
  return program;
}

TEST(TracedMemory, AViewAndAnOutputAreRecorded) { EXPECT_EQ(traced(view_of_the_input()), 2); }

TEST(TracedMemory, AnOutputThatAJumpHasSkippedIsNotRecorded) {
  TestProgram program = view_of_the_input();
  code(program) = {jump_false(kFalse, 2), view_of(kGiven, kView)};
  EXPECT_EQ(traced(program), 0);
}

TEST(TracedMemory, TheRepeatedResultOfAViewMayHaveNoMemory) {
  TestProgram program = view_of_the_input();
  plan(program).values.push_back(
      tensor(without_memory(fb::ScalarType::FLOAT, {2}, {0})));  // nothing gives it memory
  code(program)[0].arguments.push_back(kAdded);
  EXPECT_EQ(traced(program), 1) << "the output alone";
}

}  // namespace
}  // namespace executorch::testing
