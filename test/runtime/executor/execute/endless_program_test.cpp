// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Limits that stop endless loops, and programs to which these limits do not apply.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;

/// a + b, again and again: the condition of the jump back to instruction `to` is always false.
TestProgram endless_program(int32_t to = 0) {
  TestProgram source = add_program();
  source.plans[0].values.push_back(boolean(false));
  source.plans[0].chains = {{kernel(0, {0, 1, 2, 2}), kernel(0, {0, 1, 2, 2}), jump_false(3, to)}};
  return source;
}

class EndlessProgram : public ::testing::Test {
 protected:
  EndlessProgram() : method_(endless_program()) {}

  void SetUp() override {
    ASSERT_EQ(method_.error(), Error::Ok);
    ASSERT_EQ(set_inputs(*method_, {a_.value(), a_.value()}), Error::Ok);
  }

  FloatTensor a_{{1, 2}};
  LoadedMethod method_;
};

TEST_F(EndlessProgram, EndsWhenItsBudgetIsUsedUp) {
  method_->set_instruction_budget(3000);
  const LogCapture log;
  EXPECT_EQ(method_->execute(), Error::OutOfResources);
  EXPECT_TRUE(method_->instruction_budget_is_used_up());
  EXPECT_TRUE(
      log.contains("the loop that ends at instruction 2 needs more than the budget of 3000 "
                   "instructions"))
      << log.text();
}

TEST_F(EndlessProgram, HasItsWholeBudgetInEachExecution) {
  method_->set_instruction_budget(300);
  std::atomic<int> rounds{0};
  method_->set_interrupt_check(
      [](void* count) { return static_cast<std::atomic<int>*>(count)->fetch_add(1) < 0; }, &rounds);
  const LogCapture log;
  for (int execution = 1; execution <= 3; ++execution) {
    ASSERT_EQ(set_inputs(*method_, {a_.value(), a_.value()}), Error::Ok);
    EXPECT_EQ(method_->execute(), Error::OutOfResources);
    EXPECT_EQ(rounds.load(), execution * 101) << "of 3 instructions each, and the one too many";
  }
}

TEST_F(EndlessProgram, EndsWhenItsFlagIsSet) {
  std::atomic<bool> flag{false};
  method_->set_interrupt_flag(&flag);
  std::thread other([&] { flag.store(true); });
  const LogCapture log;
  EXPECT_EQ(method_->execute(), Error::InvalidState);
  other.join();
  EXPECT_FALSE(method_->instruction_budget_is_used_up());
  EXPECT_TRUE(log.contains("method 'forward' was interrupted at instruction 2")) << log.text();
}

TEST_F(EndlessProgram, RunsWithoutABudgetUntilItsCheckStopsIt) {
  int rounds = 0;
  method_->set_interrupt_check([](void* count) { return ++*static_cast<int*>(count) == 20; },
                               &rounds);
  const LogCapture log;
  EXPECT_EQ(method_->execute(), Error::InvalidState);
  EXPECT_EQ(rounds, 20);
  EXPECT_FALSE(method_->instruction_budget_is_used_up());
}

TEST(InstructionBudget, IsThatOfAllStepsTogether) {
  LoadedMethod method(endless_program(/*to=*/1));
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  method->set_instruction_budget(3);
  const LogCapture log;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(method->step(), Error::Ok) << i;
  }
  EXPECT_EQ(method->step(), Error::OutOfResources) << "the second jump, of 2 instructions each";
  EXPECT_FALSE(method->in_progress());
}

TEST(InstructionBudget, DoesNotCountInstructionsOutsideOfLoops) {
  TestProgram source = add_program();
  source.plans[0].chains = {std::vector<TestInstruction>(50, kernel(0, {0, 1, 2, 2}))};
  LoadedMethod method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  method->set_instruction_budget(1);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(InstructionBudget, AllowsJumpsForward) {
  LoadedMethod method(endless_program(3));
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  method->set_instruction_budget(1);
  std::atomic<bool> flag{true};
  method->set_interrupt_flag(&flag);
  EXPECT_EQ(method->execute(), Error::Ok) << "a program without loops is not interrupted";
}

TEST(InterruptFlag, CanBeTakenAway) {
  LoadedMethod method(endless_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  const std::atomic<bool> flag{true};
  method->set_interrupt_flag(&flag);
  method->set_interrupt_flag(nullptr);
  method->set_instruction_budget(30);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::OutOfResources) << "and not interrupted";
}

}  // namespace
}  // namespace executorch::testing
