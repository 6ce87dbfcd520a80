// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Executions on other threads: the order in the file, and the order of execution that follows.
#include <executorch/extension/async/execution.h>

#include <gtest/gtest.h>

#include <string.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <executorch/extension/async/task_order.h>
#include <executorch/extension/async/task_threads.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using Floats = std::vector<float>;
using Words = std::vector<uint32_t>;

/// Runs posted tasks on demand, in any order.
class ManualPool final : public runtime::TaskPool {
 public:
  void post(runtime::Task& task) override { waiting.push_back(&task); }

  void run(size_t index) {
    runtime::Task* const task = waiting[index];
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(index));
    task->run();
  }
  void run_all() {
    while (!waiting.empty()) run(waiting.size() - 1);
  }

  std::vector<runtime::Task*> waiting;
};

/// a = x + x; b = x + x; out = a + b; one task each. Only the last waits for others.
const Words kOrder = {1, 3, 2, 1, 2, 3, 0, 2, 1, 2};

TestProgram branches(const Words& words, const char* first = "add") {
  TestPlan plan;
  plan.values = {tensor(TestTensor{}), planned(2, 0), planned(2, 8), planned(2, 16)};
  plan.inputs = {0};
  plan.outputs = {3};
  plan.operators = {{"test::add", "out"}, {std::string("test::") + first, "out"}};
  const TestInstruction one =
      strcmp(first, "add") == 0 ? kernel(1, {0, 0, 1, 1}) : kernel(1, {0, 1, 1});
  plan.chains = {{one, kernel(0, {0, 0, 2, 2}), kernel(0, {1, 2, 3, 3})}};
  TestProgram program;
  program.plans = {plan};
  program.segment_data.resize(words.size() * sizeof(uint32_t));
  memcpy(program.segment_data.data(), words.data(), program.segment_data.size());
  program.segments = {{0, program.segment_data.size()}};
  program.named_data = {{std::string(runtime::internal::kTaskOrderPrefix) + "forward", 0}};
  return program;
}

Error start_error(const Words& words) {
  LoadedMethod method(branches(words));
  FloatTensor x({1, 2});
  EXPECT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  if (!execution.ok()) return execution.error();
  pool.run_all();
  return execution->wait();
}

TEST(ExecutionTest, IndependentTasksAreReadyTogetherAndAnyOrderGivesTheSame) {
  for (size_t first = 0; first < 2; ++first) {
    LoadedMethod method(branches(kOrder));
    FloatTensor x({1, 2});
    ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
    ManualPool pool;
    auto execution = method->execute_async(pool);
    ASSERT_TRUE(execution.ok());
    EXPECT_EQ(execution->task_count(), 3);
    ASSERT_EQ(pool.waiting.size(), 2);
    pool.run(first);
    EXPECT_FALSE(execution->done());
    pool.run(0);
    EXPECT_TRUE(execution->done());
    EXPECT_EQ(execution->wait(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
  }
}

TEST(ExecutionTest, ThreadsGiveTheResultsOfOneThreadTimeAfterTime) {
  for (const size_t threads : {1, 3}) {
    auto pool = extension::TaskThreads::start(threads);
    ASSERT_TRUE(pool.ok());
    LoadedMethod method(branches(kOrder));
    for (int i = 0; i < 50; ++i) {
      FloatTensor x({static_cast<float>(i), 2});
      ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
      auto execution = method->execute_async(**pool);
      ASSERT_TRUE(execution.ok());
      ASSERT_EQ(execution->wait(), Error::Ok);
      EXPECT_EQ(floats(method->get_output(0)), Floats({4 * static_cast<float>(i), 8}));
    }
    FloatTensor x({3, 2});
    ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
    EXPECT_EQ(method->execute(), Error::Ok);
  }
}

TEST(ExecutionTest, OrderThatTheFileLeavesOutIsAdded) {
  const Words none = {1, 3, 0, 1, 2, 3};
  LoadedMethod method(branches(none));
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(pool.waiting.size(), 2);
  pool.run_all();
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));

  TestProgram overlapping = branches(none);
  overlapping.plans[0].values[2] = planned(2, 4);  // shares 4 bytes with the other branch
  LoadedMethod other(overlapping);
  ASSERT_EQ(set_inputs(*other, {x.value()}), Error::Ok);
  auto ordered = other->execute_async(pool);
  ASSERT_TRUE(ordered.ok());
  EXPECT_EQ(pool.waiting.size(), 1);
  pool.run_all();
}

TEST(ExecutionTest, AViewIsReadBeforeItsSourcesPlaceIsWrittenAgain) {
  TestProgram program = branches({1, 4, 0, 1, 2, 3, 4});
  TestPlan& plan = program.plans[0];
  // 3: a view of 1; 4: in the place of 1; 6: the sizes of the view
  plan.values = {tensor(TestTensor{}),
                 planned(2, 0),
                 planned(2, 8),
                 tensor(TestTensor{}),
                 planned(2, 0),
                 integer(2),
                 list(fb::KernelTypes::IntList, {5})};
  plan.outputs = {2};
  plan.operators.emplace_back("executorch_prim::et_view", "default");
  plan.chains = {{kernel(0, {0, 0, 1, 1}), kernel(2, {1, 6, 3, 3}), kernel(0, {3, 3, 2, 2}),
                  kernel(0, {0, 0, 4, 4})}};
  LoadedMethod method(program);
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  ASSERT_EQ(pool.waiting.size(), 1);
  pool.run(0);
  // Each task has one follower, which runs after it; none is left to another thread.
  EXPECT_EQ(pool.waiting.size(), 0);
  pool.run_all();
  EXPECT_EQ(execution->wait(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
}

TEST(ExecutionTest, AProgramWithoutAnOrderIsOneTaskAndLogsIt) {
  TestProgram program = branches(kOrder);
  program.named_data.clear();
  LoadedMethod method(program);
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(execution->task_count(), 1);
  pool.run_all();
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
}

/// The method "forward" with one task for each instruction.
TestProgram a_task_each(TestPlan plan) {
  TestProgram program = branches(kOrder);
  const auto tasks = static_cast<uint32_t>(plan.chains[0].size());
  program.plans = {std::move(plan)};
  Words words = {1, tasks, 0};
  for (uint32_t i = 1; i <= tasks; ++i) words.push_back(i);
  program.segment_data.resize(words.size() * sizeof(uint32_t));
  memcpy(program.segment_data.data(), words.data(), program.segment_data.size());
  program.segments = {{0, program.segment_data.size()}};
  return program;
}

size_t task_count(const TestProgram& program) {
  LoadedMethod method(program);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  EXPECT_EQ(execution.error(), Error::Ok);
  if (!execution.ok()) return 0;
  pool.run_all();
  (void)execution->wait();
  return execution->task_count();
}

TEST(ExecutionTest, TasksThatAllWaitForManyOthersAreOneTask) {
  for (const int32_t many : {20, 1100}) {
    TestPlan plan;
    plan.operators = {{"test::add", "out"}};
    plan.chains.resize(1);
    // Each of the first tasks writes an element, each of the others reads them all.
    plan.values = {planned(many, 0), planned(1, 4 * static_cast<uint64_t>(many))};
    const auto add_task = [&](int32_t operand, TestValue result) {
      plan.values.push_back(std::move(result));
      const auto place = static_cast<int32_t>(plan.values.size()) - 1;
      plan.chains[0].push_back(kernel(0, {operand, operand, place, place}));
    };
    const auto bytes = 4 * static_cast<uint64_t>(many);
    plan.buffer_sizes = {0, 4 * int64_t{many} * (many + 1) + 4};
    for (uint64_t i = 0; i < bytes; i += 4) add_task(1, planned(1, i));
    for (uint64_t i = 1; i <= bytes / 4; ++i) add_task(0, planned(many, i * bytes + 4));
    EXPECT_EQ(task_count(a_task_each(plan)), many == 20 ? 40 : 1);
  }
}

TEST(ExecutionTest, AnErrorInABranchEndsTheExecutionAndTheMethodWorksAgain) {
  LoadedMethod method(branches(kOrder, "fail"));
  FloatTensor x({1, 2});
  auto pool = extension::TaskThreads::start(2);
  ASSERT_TRUE(pool.ok());
  for (const bool fails : {true, false, true}) {
    fail_switch = fails;
    ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
    auto execution = method->execute_async(**pool);
    ASSERT_TRUE(execution.ok());
    EXPECT_EQ(execution->wait(), fails ? Error::NotSupported : Error::Ok);
    EXPECT_FALSE(execution->was_cancelled());
  }
  fail_switch = true;
}

TEST(ExecutionTest, ACancelledExecutionRunsNothingMoreAndTheMethodWorksAgain) {
  LoadedMethod method(branches(kOrder));
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  pool.run(0);
  execution->cancel();
  pool.run_all();
  EXPECT_EQ(execution->wait(), Error::InvalidState);
  EXPECT_TRUE(execution->was_cancelled());
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
}

TEST(ExecutionTest, WhileItRunsTheMethodDoesNothingElse) {
  LoadedMethod method(branches(kOrder));
  FloatTensor x({1, 2});
  ManualPool pool;
  EXPECT_EQ(method->execute_async(pool).error(), Error::InvalidState);  // no input
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(method->execute_async(pool).error(), Error::InvalidState);
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::InvalidState);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->set_input(x.value(), 0), Error::InvalidState);
  EXPECT_EQ(set_inputs(*method, {x.value()}), Error::InvalidState);
  EXPECT_EQ(method->bind_input_data(x.value(), 0), Error::InvalidState);
  EXPECT_EQ(method->clear_input(0), Error::InvalidState);
  EXPECT_EQ(method->release_inputs(), Error::InvalidState);
  float out[2] = {};
  EXPECT_EQ(method->set_output_data_ptr(out, sizeof(out), 0), Error::InvalidState);
  EXPECT_EQ(method->replace_output_data_ptr(out, sizeof(out), 0), Error::InvalidState);
  pool.run_all();
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(ExecutionTest, ASetterOfAnotherThreadFailsUntilTheExecutionHasEnded) {
  auto pool = extension::TaskThreads::start(2);
  ASSERT_TRUE(pool.ok());
  LoadedMethod method(branches(kOrder));
  FloatTensor x({1, 2}), other({3, 4});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
    auto execution = method->execute_async(**pool);
    ASSERT_TRUE(execution.ok());
    Error error;
    do {
      error = method->set_input(other.value(), 0);
      ASSERT_TRUE(error == Error::InvalidState || error == Error::Ok);
    } while (error != Error::Ok);
    ASSERT_EQ(execution->wait(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
  }
}

TEST(ExecutionTest, AnExecutionThatWasMovedFromHasEnded) {
  LoadedMethod method(branches(kOrder));
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  auto execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  runtime::Execution moved(std::move(*execution));
  execution->cancel();
  EXPECT_TRUE(execution->done());
  EXPECT_EQ(execution->wait(), Error::InvalidState);
  EXPECT_FALSE(execution->was_cancelled());
  EXPECT_EQ(execution->task_count(), 0u);
  pool.run_all();
  EXPECT_EQ(moved.wait(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8}));
}

TEST(ExecutionTest, AWaitOfAnyLengthLastsUntilTheEnd) {
  LoadedMethod method(branches(kOrder));
  FloatTensor x({1, 2});
  // The last three exceed int64 as nanoseconds, the last two also as milliseconds.
  for (const uint64_t milliseconds :
       {uint64_t{1} << 40, uint64_t{1} << 44, uint64_t{1} << 63, UINT64_MAX}) {
    ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
    ManualPool pool;
    auto execution = method->execute_async(pool);
    ASSERT_TRUE(execution.ok());
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      pool.run_all();
    });
    EXPECT_TRUE(execution->wait_for(milliseconds)) << milliseconds;
    other.join();
    EXPECT_EQ(execution->wait(), Error::Ok);
  }
}

TEST(ExecutionTest, AMethodThatWasMovedFromDoesNotStart) {
  LoadedMethod method(branches(kOrder));
  const runtime::Method moved(std::move(*method));
  ManualPool pool;
  EXPECT_EQ(method->execute_async(pool).error(), Error::InvalidState);
  EXPECT_EQ(method->release_inputs(), Error::InvalidState);
}

TEST(ExecutionTest, ADamagedOrderIsRefused) {
  EXPECT_EQ(start_error(kOrder), Error::Ok);
  EXPECT_EQ(start_error({2, 3, 2, 1, 2, 3, 0, 2, 1, 2}), Error::NotSupported);
  const Words damaged[] = {
      {1, 3},                             // no header
      {1, 3, 2, 1, 2, 3, 0, 2, 1},        // half a pair
      {1, 3, 2, 1, 1, 3, 0, 2, 1, 2},     // a task without instructions
      {1, 3, 2, 1, 2, 4, 0, 2, 1, 2},     // more instructions than there are
      {1, 2, 1, 1, 2, 0, 1},              // fewer
      {1, 3, 2, 1, 2, 3, 2, 0, 1, 2},     // a task that waits for a later one
      {1, 3, 2, 1, 2, 3, 0, 3, 1, 2},     // none of that number
      {1, 3, 0xffffffff, 1, 2, 3, 0, 2},  // more pairs than words
      {1, 0xffffffff, 2, 1, 2, 3, 0, 2, 1, 2},
  };
  for (const Words& words : damaged) {
    EXPECT_EQ(start_error(words), Error::InvalidProgram) << words.size();
  }
}

TEST(ExecutionTest, AnOrderOfLessThanAWordIsRefused) {
  TestProgram program = branches(kOrder);
  program.segments = {{0, 3}};
  LoadedMethod method(program);
  ManualPool pool;
  EXPECT_EQ(method->execute_async(pool).error(), Error::InvalidProgram);
}

TEST(ExecutionTest, EndsALoopWhoseInstructionBudgetIsUsedUp) {
  TestProgram program = add_program();
  program.plans[0].values.push_back(boolean(false));
  program.plans[0].chains = {{kernel(0, {0, 1, 2, 2}), jump_false(3, 0)}};
  LoadedMethod method(program);
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value(), x.value()}), Error::Ok);
  method->set_instruction_budget(100);
  ManualPool pool;
  const LogCapture log;
  runtime::Result<runtime::Execution> execution = method->execute_async(pool);
  ASSERT_TRUE(execution.ok());
  pool.run_all();
  EXPECT_EQ(execution->wait(), Error::OutOfResources);
  EXPECT_FALSE(execution->was_cancelled());
  EXPECT_TRUE(method->instruction_budget_is_used_up());
  EXPECT_TRUE(log.contains("the budget of 100 instructions")) << log.text();
}

TEST(ExecutionTest, AJumpOutOfATaskIsRefused) {
  TestProgram program = branches({1, 2, 1, 1, 3, 0, 1});
  program.plans[0].values.push_back(boolean(true));
  program.plans[0].chains[0][0] = jump_false(4, 2);
  LoadedMethod method(program);
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(*method, {x.value()}), Error::Ok);
  ManualPool pool;
  EXPECT_EQ(method->execute_async(pool).error(), Error::InvalidProgram);
}

}  // namespace
}  // namespace executorch::testing
