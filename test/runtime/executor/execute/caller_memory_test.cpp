// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Methods that read inputs and write outputs in the caller's memory although both are planned. This
// is allowed only if no other value depends on their planned memory.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;
using Change = std::function<void(TestPlan&)>;

/// out = in + 1, for programs whose input only a delegate reads.
class AddOneBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<runtime::DelegateHandle*> init(runtime::BackendInitContext&, runtime::FreeableBuffer*,
                                        runtime::ArrayRef<runtime::CompileSpec>) const override {
    return static_cast<runtime::DelegateHandle*>(nullptr);
  }
  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle*,
                Span<EValue*> args) const override {
    const auto* in = args[0]->toTensor().const_data_ptr<float>();
    auto* out = args[1]->toTensor().mutable_data_ptr<float>();
    for (ssize_t i = 0; i < args[0]->toTensor().numel(); ++i) {
      out[i] = in[i] + 1;
    }
    return Error::Ok;
  }
};

AddOneBackend adds_one;
[[maybe_unused]] const Error registered_adding =
    runtime::register_backend({"AddOneBackend", &adds_one});

/// in (value 0) → delegate → out (value 1); value 2 is a tensor elsewhere, 3 a bool.
TestProgram program_that_adds_one() {
  TestProgram program;
  TestPlan plan;
  plan.values = {planned(2, 0), planned(2, 16), planned(2, 32), boolean(true)};
  plan.inputs = {0};
  plan.outputs = {1};
  plan.operators = {{"test::add", "out"}, {"executorch_prim::et_view", "default"}};
  plan.delegates = {{"AddOneBackend"}};
  plan.chains = {{delegate(0, {0, 1})}};
  program.plans = {plan};
  program.inline_data = {"payload"};
  return program;
}

bool can_lend(const Change& change) {
  TestProgram program = program_that_adds_one();
  change(program.plans[0]);
  LoadedMethod method(program);
  EXPECT_EQ(method.error(), Error::Ok);
  return method.error() == Error::Ok && method->is_input_unaliased(0);
}

bool can_replace(const Change& change) {
  TestProgram program = program_that_adds_one();
  change(program.plans[0]);
  LoadedMethod method(program);
  EXPECT_EQ(method.error(), Error::Ok);
  return method.error() == Error::Ok && method->is_output_unaliased(0);
}

const Change kAsItIs = [](TestPlan&) {};

TEST(CallerMemoryTest, AnInputThatOnlyDelegatesReadIsLent) {
  LoadedMethod method(program_that_adds_one());
  ASSERT_EQ(method.error(), Error::Ok);
  float data[] = {1, 2};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, data, order);
  for (int execution = 0; execution < 2; ++execution) {
    ASSERT_EQ(method->bind_input_data(EValue(aten::Tensor(&impl)), 0), Error::Ok);
    EXPECT_EQ(method->get_input(0).toTensor().const_data_ptr(), data);
    data[1] = 5;
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr<float>()[1], 6);
  }
  // set_input() copies the input into planned memory again.
  ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 0), Error::Ok);
  EXPECT_NE(method->get_input(0).toTensor().const_data_ptr(), data);
  const LogCapture log;
  EXPECT_EQ(method->bind_input_data(EValue(int64_t{1}), 0), Error::InvalidArgument);
  EXPECT_EQ(method->bind_input_data(EValue(aten::Tensor(&impl)), 1), Error::InvalidArgument);
}

TEST(CallerMemoryTest, AReleasedInputHasItsPlannedMemoryAndSizesAgain) {
  TestProgram program = program_that_adds_one();
  program.plans[0].inputs = {3, 0};
  LoadedMethod method(program);
  ASSERT_EQ(method.error(), Error::Ok);
  const void* const planned = method->get_input(1).toTensor().const_data_ptr();
  FloatTensor lent({1, 2});
  ASSERT_EQ(method->set_input(EValue(true), 0), Error::Ok);
  ASSERT_EQ(method->bind_input_data(lent.value(), 1), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  ASSERT_EQ(method->release_inputs(), Error::Ok);
  EXPECT_EQ(method->get_input(1).toTensor().const_data_ptr(), planned);
  EXPECT_EQ(method->get_input(1).toTensor().numel(), 2);
  EXPECT_EQ(floats(method->get_output(0)), (std::vector<float>{2, 3}));
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 1 is not set")) << log.text();
  ASSERT_EQ(method->set_input(lent.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(CallerMemoryTest, AnInputWhoseMemoryOtherValuesDependOnIsNotLent) {
  EXPECT_TRUE(can_lend(kAsItIs));
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.outputs = {1, 0}; }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.inputs = {3}; })) << "no tensor";
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.values[2].tensor.offset = 4; })) << "overlaps";
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.chains[0].push_back(jump_false(3, 0)); }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.chains[0].push_back(free_value(2)); }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.chains[0].push_back(delegate(0, {2, 0})); }))
      << "a delegate writes it";
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.chains[0].push_back(kernel(0, {0, 0, 2, 2})); }))
      << "a kernel reads it";
  EXPECT_TRUE(can_lend([](TestPlan& plan) { plan.chains[0].push_back(kernel(0, {1, 1, 2, 2})); }));
  EXPECT_FALSE(can_lend(
      [](TestPlan& plan) { plan.values.push_back(list(fb::KernelTypes::TensorList, {2, 0})); }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) {
    plan.values.push_back(list(fb::KernelTypes::OptionalTensorList, {-1, 0}));
  }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) {
    plan.values[0].tensor.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  }));
  EXPECT_FALSE(can_lend([](TestPlan& plan) { plan.values[0].tensor.memory_id = 0; }));
}

TEST(CallerMemoryTest, AnOutputOnWhichNoValueDependsIsWrittenToTheCallersMemory) {
  LoadedMethod method(program_that_adds_one());
  ASSERT_EQ(method.error(), Error::Ok);
  float data[] = {1, 2};
  float result[] = {0, 0};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, data, order);
  ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 0), Error::Ok);
  ASSERT_EQ(method->replace_output_data_ptr(result, sizeof(result), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(result[1], 3);
  const LogCapture log;
  EXPECT_EQ(method->replace_output_data_ptr(result, sizeof(result) - 1, 0), Error::InvalidArgument);
  EXPECT_EQ(method->replace_output_data_ptr(nullptr, sizeof(result), 0), Error::InvalidArgument);
  EXPECT_EQ(method->replace_output_data_ptr(reinterpret_cast<char*>(result) + 1, 64, 0),
            Error::InvalidArgument);
  EXPECT_EQ(method->replace_output_data_ptr(result, sizeof(result), 1), Error::InvalidArgument);
  EXPECT_FALSE(method->is_output_unaliased(1));
}

TEST(CallerMemoryTest, AnOutputWhoseMemoryOtherValuesDependOnIsNotReplaced) {
  EXPECT_TRUE(can_replace(kAsItIs));
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.outputs = {1, 1}; }));
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.inputs = {0, 1}; }));
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.outputs = {3}; })) << "no tensor";
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.outputs = {2}; })) << "nothing writes it";
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.values[2].tensor.offset = 20; }))
      << "overlaps";
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.chains[0].push_back(jump_false(3, 0)); }));
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.chains[0].push_back(delegate(0, {2, 1})); }))
      << "written twice";
  EXPECT_FALSE(can_replace([](TestPlan& plan) {
    plan.chains[0].push_back(kernel(0, {1, 1, 2, 2}));
  })) << "read by a kernel";
  EXPECT_FALSE(can_replace(
      [](TestPlan& plan) { plan.values.push_back(list(fb::KernelTypes::TensorList, {1})); }));
  EXPECT_FALSE(can_replace([](TestPlan& plan) {
    plan.values.push_back(list(fb::KernelTypes::IntList, {}));
    TestTensor view;
    plan.values.push_back(tensor(view));
    plan.chains[0].push_back(kernel(1, {1, 4, 5, 5}));
  })) << "a view shows it";
  EXPECT_FALSE(can_replace([](TestPlan& plan) { plan.values[1].tensor.memory_id = 0; }));
}

TEST(CallerMemoryTest, AKernelsResultIsReplaced) {
  LoadedMethod method(add_program());
  ASSERT_EQ(method.error(), Error::Ok);
  float result[] = {0, 0};
  EXPECT_TRUE(method->is_output_unaliased(0));
  ASSERT_EQ(method->replace_output_data_ptr(result, sizeof(result), 0), Error::Ok);
  float data[] = {1, 2};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, data, order);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), i), Error::Ok);
  }
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(result[1], 4);
}

/// Executes with two result buffers in turn. An execution must not change the other buffer.
void expect_results_in_turn(runtime::Method& method,
                            const std::function<Error(float*, size_t)>& set_result,
                            const std::function<float(float)>& expected) {
  float results[2][2] = {{-1, -1}, {-1, -1}};
  float inputs[2][2] = {{0, 0}, {0, 0}};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  for (int execution = 0; execution < 5; ++execution) {
    const int now = execution % 2;
    const float kept = results[1 - now][1];
    inputs[now][0] = inputs[now][1] = static_cast<float>(execution);
    aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, inputs[now], order);
    for (size_t i = 0; i < method.inputs_size(); ++i) {
      ASSERT_EQ(method.set_input(EValue(aten::Tensor(&impl)), i), Error::Ok);
    }
    ASSERT_EQ(set_result(results[now], sizeof(results[now])), Error::Ok);
    ASSERT_EQ(method.execute(), Error::Ok);
    EXPECT_EQ(method.get_output(0).toTensor().const_data_ptr(), results[now]);
    EXPECT_EQ(results[now][0], expected(static_cast<float>(execution)));
    EXPECT_EQ(results[now][1], expected(static_cast<float>(execution)));
    EXPECT_EQ(results[1 - now][1], kept) << "an execution wrote to the other buffer";
  }
}

TEST(CallerMemoryTest, ResultsGoToTwoBuffersInTurn) {
  for (const bool is_planned : {true, false}) {
    TestProgram program = add_program();
    if (!is_planned) program.plans[0].values[program.plans[0].outputs[0]].tensor.memory_id = 0;
    LoadedMethod method(program);
    ASSERT_EQ(method.error(), Error::Ok);
    expect_results_in_turn(
        *method,
        [&](float* memory, size_t size) {
          return is_planned ? method->replace_output_data_ptr(memory, size, 0)
                            : method->set_output_data_ptr(memory, size, 0);
        },
        [](float x) { return x + x; });
  }
}

TEST(CallerMemoryTest, ADelegatesResultsGoToTwoBuffersInTurn) {
  LoadedMethod method(program_that_adds_one());
  ASSERT_EQ(method.error(), Error::Ok);
  expect_results_in_turn(
      *method,
      [&](float* memory, size_t size) { return method->replace_output_data_ptr(memory, size, 0); },
      [](float x) { return x + 1; });
}

TEST(CallerMemoryTest, InputsAndResultsChangePlacesInTurn) {
  LoadedMethod method(program_that_adds_one());
  ASSERT_EQ(method.error(), Error::Ok);
  float buffers[2][2] = {{1, 2}, {0, 0}};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  // Each execution reads the result of the one before where that was written.
  for (int execution = 0; execution < 4; ++execution) {
    float* const from = buffers[execution % 2];
    float* const to = buffers[1 - execution % 2];
    aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, from, order);
    ASSERT_EQ(method->bind_input_data(EValue(aten::Tensor(&impl)), 0), Error::Ok);
    ASSERT_EQ(method->replace_output_data_ptr(to, sizeof(buffers[0]), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(to[0], from[0] + 1);
    EXPECT_EQ(to[1], from[1] + 1);
  }
  EXPECT_EQ(buffers[0][0], 5);
}

}  // namespace
}  // namespace executorch::testing
