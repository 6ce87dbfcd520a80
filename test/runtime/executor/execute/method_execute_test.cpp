// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using Kind = fb::KernelTypes;
using Floats = std::vector<float>;
using Loaded = LoadedMethod;

TEST(MethodExecution, RunsAProgram) {
  Loaded method(add_program());
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor a({1, 2});
  FloatTensor b({10, 20});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  ASSERT_EQ(method->set_input(b.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{11, 22}));
  EXPECT_EQ(method->execute(), Error::Ok) << "inputs that nothing overwrites stay set";
}

TEST(MethodExecution, CanBeUsedAgainAfterAKernelHasFailed) {
  TestProgram source = add_program();
  source.plans[0].operators = {{"test::fail", "out"}, {"test::count", "int"}};
  source.plans[0].values.push_back(integer(0));
  source.plans[0].outputs.push_back(3);
  source.plans[0].chains = {{kernel(1, {3}), kernel(0, {0, 2, 2})}};
  Loaded method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  fail_switch = true;
  {
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::NotSupported);
    EXPECT_TRUE(log.contains("method 'forward', instruction 1: operator test::fail.out"))
        << log.text();
    EXPECT_TRUE(log.contains("Float[2], Float[2]")) << log.text();
  }
  fail_switch = false;
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{1, 2}));
  EXPECT_EQ(method->get_output(1).toInt(), 1) << "the counter starts anew";
  fail_switch = true;
}

TEST(MethodExecution, GivesTemporaryMemoryBackAfterEachKernel) {
  TestProgram source = add_program();
  source.plans[0].operators = {{"test::temp", "out"}};
  source.plans[0].values.push_back(integer(200));  // of 256
  source.plans[0].chains = {std::vector<TestInstruction>(5, kernel(0, {0, 3, 2, 2}))};
  Loaded method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(MethodExecution, StepsThroughAProgram) {
  TestProgram source = add_program();
  source.plans[0].chains = {{kernel(0, {0, 1, 2, 2}), kernel(0, {2, 1, 2, 2})}};
  Loaded method(source);
  FloatTensor a({1, 2});
  const LogCapture log;
  EXPECT_EQ(method->step(), Error::InvalidState) << "inputs are not set";
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  EXPECT_FALSE(method->in_progress());
  EXPECT_EQ(method->step(), Error::Ok);
  EXPECT_TRUE(method->in_progress());
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_EQ(method->set_input(a.value(), 0), Error::InvalidState);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(method->step(), Error::EndOfMethod);
  EXPECT_FALSE(method->in_progress());
  EXPECT_EQ(floats(method->get_output(0)), (Floats{3, 6}));
  EXPECT_EQ(method->reset_execution(), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(MethodExecution, TakesBranches) {
  // forward(condition, x): x + x if condition else x * 10, as an exporter writes it.
  TestProgram source;
  TestPlan plan;
  TestTensor condition;
  condition.type = fb::ScalarType::BOOL;
  condition.sizes = {};
  condition.dim_order = {};
  condition.memory_id = 1;
  plan.values = {tensor(condition), planned(2, 8),  planned(2, 16), planned(2, 24),
                 planned(2, 32),    boolean(false), real(10)};
  plan.inputs = {0, 1};
  plan.outputs = {2};
  plan.operators = {{"test::add", "out"}, {"test::scale", "out"}};
  plan.chains = {{jump_false(0, 4), kernel(0, {1, 1, 3, 3}), move(3, 2), jump_false(5, 6),
                  kernel(1, {1, 6, 4, 4}), move(4, 2)}};
  source.plans = {plan};
  Loaded method(source);
  FloatTensor x({1, 2});
  for (uint8_t choice : {1, 0, 1}) {
    aten::TensorImpl chosen(aten::ScalarType::Bool, 0, nullptr, &choice);
    ASSERT_EQ(method->set_input(EValue(aten::Tensor(&chosen)), 0), Error::Ok);
    ASSERT_EQ(method->set_input(x.value(), 1), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), choice != 0 ? (Floats{2, 4}) : (Floats{10, 20}));
  }
}

TEST(MethodExecution, RunsLoops) {
  // x += y, five times: counter, comparison, jump back; the counter ends where it began.
  TestProgram source = add_program();
  TestPlan& plan = source.plans[0];
  plan.values.insert(plan.values.end(), {integer(0), integer(1), integer(5), boolean(false)});
  plan.operators = {{"test::add", "out"},
                    {"executorch_prim::add", "Scalar"},
                    {"executorch_prim::eq", "Scalar"},
                    {"executorch_prim::sub", "Scalar"}};
  plan.chains = {{kernel(0, {0, 1, 0, 0}), kernel(1, {3, 4, 3}), kernel(2, {3, 5, 6}),
                  jump_false(6, 0), kernel(3, {3, 5, 3})}};
  plan.outputs = {0, 3};
  Loaded method(source);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor x({1, 2});
  FloatTensor y({10, 20});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(set_inputs(*method, {x.value(), y.value()}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{51, 102}));
    EXPECT_EQ(method->get_output(1).toInt(), 0);
  }
}

TEST(MethodExecution, RunsItsChainsInTurn) {
  TestProgram source = add_program();
  source.plans[0].values.push_back(boolean(false));
  source.plans[0].chains = {{jump_false(3, 2), kernel(0, {0, 0, 0, 0})},
                            {jump_false(3, 2), kernel(0, {0, 0, 0, 0}), kernel(0, {0, 1, 2, 2})}};
  Loaded method(source);
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value(), x.value()}), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4})) << "jumps count within their chain";
}

TEST(MethodExecution, MakesViews) {
  // out = (x as [2, -1]) + itself; the view has no memory of its own.
  TestProgram source;
  TestPlan plan;
  TestTensor view;
  view.sizes = {2, 2};
  view.dim_order = {0, 1};
  TestTensor out = view;
  out.memory_id = 1;
  out.offset = 32;
  plan.values = {planned(4, 0), tensor(view), tensor(out),
                 integer(2),    integer(-1),  list(Kind::IntList, {3, 4})};
  plan.inputs = {0};
  plan.outputs = {2};
  plan.operators = {{"executorch_prim::et_view", "default"}, {"test::add", "out"}};
  plan.chains = {{kernel(0, {0, 5, 1}), kernel(1, {1, 1, 2, 2})}};
  source.plans = {plan};
  FloatTensor x({1, 2, 3, 4});
  {
    Loaded method(source);
    ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4, 6, 8}));
  }
  // Without the view there is nothing to add.
  source.plans[0].chains = {{kernel(1, {1, 1, 2, 2})}};
  Loaded method(source);
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
}

}  // namespace
}  // namespace executorch::testing
