// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <vector>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using Kind = fb::KernelTypes;
using Floats = std::vector<float>;
using Loaded = LoadedMethod;

TEST(MethodInputsAndOutputs, NamesTheInputThatIsNotSet) {
  Loaded method(add_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 1 is not set")) << log.text();
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(MethodInputsAndOutputs, NeedsInputsAgainIfThePlanReusesTheirMemory) {
  TestProgram source = add_program();
  source.plans[0].values[2].tensor.offset = 0;  // the output lies where the first input was
  Loaded method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 0 is not set")) << log.text();
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4}));
}

TEST(MethodInputsAndOutputs, ReleasesTheCallersMemoryAndWhatShowsIt) {
  TestProgram source = add_program();
  TestPlan& plan = source.plans[0];
  plan.values[1].tensor.memory_id = 0;
  plan.outputs.push_back(1);
  plan.chains[0].push_back(plan.chains[0][0]);
  Loaded method(source);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(method->release_inputs(), Error::InvalidState);
  ASSERT_EQ(method->step(), Error::Ok);
  ASSERT_EQ(method->get_output(1).toTensor().const_data_ptr(), a.data());
  ASSERT_EQ(method->release_inputs(), Error::Ok);
  EXPECT_EQ(method->get_output(1).toTensor().const_data_ptr(), nullptr);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4}));
  ASSERT_EQ(method->reset_execution(), Error::Ok);
  EXPECT_EQ(method->execute(), Error::InvalidState);
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(MethodInputsAndOutputs, TakesTensorsWithoutStrides) {
  Loaded method(add_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(method->set_input(a.value_without_strides(), 0), Error::Ok);
  ASSERT_EQ(method->set_input(a.value_without_strides(), 1), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4}));
}

TEST(MethodInputsAndOutputs, TakesTensorsWithoutDimOrderAsContiguous) {
  Loaded method(add_program());
  const LogCapture log;
  int32_t sizes[] = {2};
  float data[] = {1, 2};
  aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, data);
  ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 0), Error::Ok);
  ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 1), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{2, 4}));
  EXPECT_EQ(log.text(), "");
}

TEST(MethodInputsAndOutputs, RefusesInputsThatDoNotFit) {
  Loaded method(add_program());
  const LogCapture log;
  FloatTensor right({1, 2});
  FloatTensor longer({1, 2, 3});
  FloatTensor rank({1, 2}, {1, 2});
  EXPECT_EQ(method->set_input(right.value(), 2), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(longer.value(), 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(rank.value(), 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(int64_t{1}), 0), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("sizes (3), expected (2)")) << log.text();

  FloatTensor strided({1, 2});
  strided.strides()[0] = 2;
  EXPECT_EQ(method->set_input(strided.value(), 0), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("not contiguous")) << log.text();

  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  int32_t strides[] = {1};
  int64_t data[] = {1, 2};
  aten::TensorImpl longs(aten::ScalarType::Long, 1, sizes, data, order, strides);
  EXPECT_EQ(method->set_input(EValue(aten::Tensor(&longs)), 0), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("dtype Long, expected Float")) << log.text();
  aten::TensorImpl nothing(aten::ScalarType::Float, 1, sizes, nullptr, order, strides);
  EXPECT_EQ(method->set_input(EValue(aten::Tensor(&nothing)), 0), Error::InvalidArgument);

  EXPECT_EQ(set_inputs(*method, {right.value(), right.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

/// "forward": scales a tensor of at most 4 floats; without planned input and output.
TestProgram unplanned_program(fb::TensorShapeDynamism dynamism) {
  TestTensor free;
  free.sizes = {4};
  free.dynamism = dynamism;
  TestProgram program;
  TestPlan plan;
  plan.values = {tensor(free), tensor(free), real(2)};
  plan.inputs = {0};
  plan.outputs = {1};
  plan.operators = {{"test::scale", "out"}};
  plan.chains = {{kernel(0, {0, 2, 1, 1})}};
  plan.buffer_sizes = {0};
  program.plans = {plan};
  return program;
}

TEST(MethodInputsAndOutputs, UsesTheCallersMemoryForWhatIsNotPlanned) {
  Loaded method(unplanned_program(fb::TensorShapeDynamism::STATIC));
  FloatTensor a({1, 2, 3, 4});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  {
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::InvalidState);
    EXPECT_TRUE(log.contains("set_output_data_ptr")) << log.text();
  }
  float out[4];
  {
    const LogCapture log;
    EXPECT_EQ(method->set_output_data_ptr(out, sizeof(out) - 1, 0), Error::InvalidArgument);
    EXPECT_EQ(method->set_output_data_ptr(out, sizeof(out), 1), Error::InvalidArgument);
    EXPECT_EQ(method->set_output_data_ptr(reinterpret_cast<char*>(out) + 1, sizeof(out), 0),
              Error::InvalidArgument);
  }
  ASSERT_EQ(method->set_output_data_ptr(out, sizeof(out), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(Floats(out, out + 4), (Floats{2, 4, 6, 8}));
  a.data()[0] = 10;
  EXPECT_EQ(method->execute(), Error::Ok) << "the input is used in place";
  EXPECT_EQ(out[0], 20);
}

TEST(MethodInputsAndOutputs, TakesDynamicInputsUpToTheirBound) {
  Loaded method(unplanned_program(fb::TensorShapeDynamism::DYNAMIC_BOUND));
  float out[4];
  ASSERT_EQ(method->set_output_data_ptr(out, sizeof(out), 0), Error::Ok);
  for (const Floats& data : {Floats{1, 2}, Floats{1, 2, 3, 4}, Floats{5}}) {
    FloatTensor input(data);
    ASSERT_EQ(method->set_input(input.value(), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)).size(), data.size());
    EXPECT_EQ(out[0], 2 * data[0]);
  }
  FloatTensor longer({1, 2, 3, 4, 5});
  const LogCapture log;
  EXPECT_EQ(method->set_input(longer.value(), 0), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("expected at most (4)")) << log.text();
}

TEST(MethodInputsAndOutputs, DoesNotWritePastTheCallersInput) {
  // The program fills its own input, of at most 4 elements, with 4 of them.
  TestProgram source = unplanned_program(fb::TensorShapeDynamism::DYNAMIC_BOUND);
  TestPlan& plan = source.plans[0];
  plan.operators = {{"test::fill", "out"}};
  plan.values.push_back(integer(4));
  plan.values.push_back(list(Kind::IntList, {3}));
  plan.chains = {{kernel(0, {4, 0, 0})}};
  plan.outputs = {0};
  Loaded method(source);
  FloatTensor two({1, 2});
  ASSERT_EQ(method->set_input(two.value(), 0), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidArgument);
  FloatTensor four({1, 2, 3, 4});
  ASSERT_EQ(method->set_input(four.value(), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(four.data()[3], 4);
}

TEST(MethodInputsAndOutputs, TakesNumbersThatAreThoseOfTheProgram) {
  TestProgram source = add_program();
  for (const TestValue& value : {integer(3), real(1.5), boolean(true), none()}) {
    source.plans[0].inputs.push_back(static_cast<int32_t>(source.plans[0].values.size()));
    source.plans[0].values.push_back(value);
  }
  Loaded method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok) << "numbers are set from the start";
  EXPECT_EQ(method->set_input(EValue(int64_t{3}), 2), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(1.5), 3), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(true), 4), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(), 5), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->set_input(EValue(int64_t{4}), 2), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(3.0), 2), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(1.0), 3), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(false), 4), Error::InvalidArgument);
}

}  // namespace
}  // namespace executorch::testing
