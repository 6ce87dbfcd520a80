// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>
#include <string.h>

#include <string>
#include <vector>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"
#include "test_kernels.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::MethodMeta;
using runtime::Result;
using Kind = fb::KernelTypes;
using Floats = std::vector<float>;

/// "forward" of a program that is expected to load.
class Loaded {
 public:
  explicit Loaded(const TestProgram& source)
      : program_(source),
        memory_(*program_->method_meta("forward")),
        method_(program_->load_method("forward", &memory_.manager())) {}

  Method& operator*() { return *method_; }
  Method* operator->() { return &*method_; }
  Error error() const { return method_.error(); }
  MethodMemory& memory() { return memory_; }

 private:
  LoadedProgram program_;
  MethodMemory memory_;
  Result<Method> method_;
};

TEST(Method, RunsAProgram) {
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

TEST(Method, TakesExactlyTheMemoryThatIsSaid) {
  TestProgram source = add_program();
  TestPlan& plan = source.plans[0];
  for (const TestValue& value :
       {integer(3), list(Kind::IntList, {3, 3}), string("text"), list(Kind::TensorList, {0, 1}),
        list(Kind::BoolList, {1}), list(Kind::OptionalTensorList, {0, -1})}) {
    plan.values.push_back(value);
  }
  TestTensor dynamic;
  dynamic.sizes = {1, 1, 2};
  dynamic.dim_order = {0, 1, 2};
  dynamic.memory_id = 1;
  dynamic.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  plan.values.push_back(tensor(dynamic));
  LoadedProgram program(source);
  const MethodMeta meta = *program->method_meta("forward");
  const size_t size = meta.method_allocator_size();

  MethodMemory exact = MethodMemory::of_size(meta, size);
  EXPECT_EQ(program->load_method("forward", &exact.manager()).error(), Error::Ok);
  EXPECT_EQ(exact.method_allocator().used_size(), size);

  const LogCapture log;
  MethodMemory less = MethodMemory::of_size(meta, size - 1);
  EXPECT_EQ(program->load_method("forward", &less.manager()).error(),
            Error::MemoryAllocationFailed);
}

TEST(Method, NeedsItsPlannedMemory) {
  LoadedProgram program(add_program());
  const MethodMeta meta = *program->method_meta("forward");
  MethodMemory memory(meta);
  const LogCapture log;
  runtime::MemoryManager without(&memory.method_allocator());
  EXPECT_EQ(program->load_method("forward", &without).error(), Error::MemoryAllocationFailed);

  alignas(8) uint8_t bytes[65];
  runtime::Span<uint8_t> small[] = {{bytes, 8}};
  runtime::HierarchicalAllocator small_planned({small, 1});
  memory.method_allocator().reset();
  runtime::MemoryManager with_less(&memory.method_allocator(), &small_planned);
  EXPECT_EQ(program->load_method("forward", &with_less).error(), Error::MemoryAllocationFailed);

  runtime::Span<uint8_t> shifted[] = {{bytes + 1, 64}};
  runtime::HierarchicalAllocator shifted_planned({shifted, 1});
  memory.method_allocator().reset();
  runtime::MemoryManager misaligned(&memory.method_allocator(), &shifted_planned);
  EXPECT_EQ(program->load_method("forward", &misaligned).error(), Error::InvalidArgument);
}

TEST(Method, NamesTheInputThatIsNotSet) {
  Loaded method(add_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(method->set_input(a.value(), 0), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 1 is not set")) << log.text();
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(Method, WantsInputsAgainWhoseMemoryThePlanReuses) {
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

TEST(Method, RefusesInputsThatDoNotFit) {
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

TEST(Method, UsesTheCallersMemoryForWhatIsNotPlanned) {
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

TEST(Method, TakesDynamicInputsUpToTheirBound) {
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

TEST(Method, DoesNotWritePastTheCallersInput) {
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

TEST(Method, TakesNumbersThatAreThoseOfTheProgram) {
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

TEST(Method, ListsAllMissingOperators) {
  TestProgram source = add_program();
  source.plans[0].operators = {{"no::one", "out"}, {"test::add", "out"}, {"no::two", ""}};
  source.plans[0].chains = {{kernel(0, {0, 1, 2, 2}), kernel(0, {0, 1, 2, 2}),
                             kernel(1, {0, 1, 2, 2}), kernel(2, {0, 2})}};
  const LogCapture log;
  EXPECT_EQ(Loaded(source).error(), Error::OperatorMissing);
  EXPECT_TRUE(log.contains("no::one.out")) << log.text();
  EXPECT_TRUE(log.contains("no::two")) << log.text();
  EXPECT_FALSE(log.contains("test::add")) << log.text();
  size_t named = 0;
  for (const auto& message : log.messages()) {
    named += message.text.find("no::one.out") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(named, 1u) << "once each";
}

TEST(Method, RefusesKernelsWithOtherArguments) {
  for (const std::vector<int32_t>& arguments :
       {std::vector<int32_t>{0, 1}, {0, 3, 2, 2}, {}, {4, 1, 2, 2}}) {
    TestProgram source = add_program();
    source.plans[0].values.push_back(integer(1));
    source.plans[0].values.push_back(list(Kind::TensorList, {0}));
    source.plans[0].chains = {{kernel(0, arguments)}};
    const LogCapture log;
    EXPECT_NE(Loaded(source).error(), Error::Ok);
    EXPECT_TRUE(log.contains("operator test::add.out")) << log.text();
  }
}

TEST(Method, UsesOnlyTheKernelsThatItIsGiven) {
  LoadedProgram program(add_program());
  MethodMemory memory(*program->method_meta("forward"));
  const auto given = test_kernels();
  EXPECT_EQ(
      program
          ->load_method("forward", &memory.manager(), nullptr, nullptr, nullptr, {given.data(), 1})
          .error(),
      Error::Ok);
  memory.method_allocator().reset();
  const LogCapture log;
  EXPECT_EQ(program
                ->load_method("forward", &memory.manager(), nullptr, nullptr, nullptr,
                              {given.data() + 1, 1})
                .error(),
            Error::OperatorMissing);
}

TEST(Method, CanBeUsedAgainAfterAKernelHasFailed) {
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

TEST(Method, GivesTemporaryMemoryBackAfterEachKernel) {
  TestProgram source = add_program();
  source.plans[0].operators = {{"test::temp", "out"}};
  source.plans[0].values.push_back(integer(200));  // of 256
  source.plans[0].chains = {std::vector<TestInstruction>(5, kernel(0, {0, 3, 2, 2}))};
  Loaded method(source);
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(Method, StepsThroughAProgram) {
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

TEST(Method, TakesBranches) {
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

TEST(Method, RunsLoops) {
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

TEST(Method, RunsItsChainsInTurn) {
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

TEST(Method, MakesViews) {
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

TEST(Method, LoadsInitialValuesOfItsBuffers) {
  TestProgram source = add_program();
  TestTensor state;
  state.memory_id = 1;
  state.offset = 48;
  state.data_buffer_idx = 1;
  state.name = "state";
  source.plans[0].values.push_back(tensor(state));
  source.plans[0].chains = {{kernel(0, {0, 3, 3, 3})}};
  source.plans[0].outputs = {3};
  const float initial[] = {100, 200};
  source.segment_data = std::string(reinterpret_cast<const char*>(initial), sizeof(initial));
  source.segments = {{0, 8}};
  source.mutable_data = {{0, {0, 0}}};
  Loaded method(source);
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_EQ(floats(EValue(*method->get_attribute("state"))), (Floats{100, 200}));
  FloatTensor x({1, 2});
  for (int i = 1; i < 3; ++i) {
    ASSERT_EQ(set_inputs(*method, {x.value(), x.value()}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{100.0f + i, 200.0f + 2 * i}));
  }
  const LogCapture log;
  EXPECT_EQ(method->get_attribute("other").error(), Error::NotFound);
}

TEST(Method, UsesConstantsInPlace) {
  TestProgram source = add_program();
  TestTensor constant;
  constant.data_buffer_idx = 1;
  source.plans[0].values[1] = tensor(constant);
  source.plans[0].inputs = {0};
  const float data[] = {0, 0, 5, 6};
  source.segment_data = std::string(reinterpret_cast<const char*>(data), sizeof(data));
  source.segments = {{0, 16}};
  source.constants = {0, {0, 8}};
  Loaded method(source);
  FloatTensor x({1, 2});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{6, 8}));
}

TEST(Method, NeverWritesToConstants) {
  TestTensor constant;
  constant.data_buffer_idx = 1;
  TestTensor view;
  const std::vector<std::vector<TestInstruction>> programs = {
      {kernel(0, {0, 1, 3, 3})},                          // as an output
      {kernel(0, {0, 1, 3, 2})},                          // as an output that is not repeated
      {move(3, 2), kernel(0, {0, 1, 2, 2})},              // by a move
      {move(4, 2), move(3, 4), kernel(0, {0, 1, 2, 2})},  // by two, in a loop
      {kernel(1, {3, 6, 5}), kernel(0, {0, 1, 5, 5})},    // through a view
  };
  for (const auto& code : programs) {
    TestProgram source = add_program();
    TestPlan& plan = source.plans[0];
    for (const TestValue& value :
         {tensor(constant), planned(2, 48), tensor(view), list(Kind::IntList, {7}), integer(2)}) {
      plan.values.push_back(value);
    }
    plan.operators.push_back({"executorch_prim::et_view", "default"});
    plan.chains = {code};
    source.constant_buffer = {"", "12345678"};
    const LogCapture log;
    EXPECT_EQ(Loaded(source).error(), Error::InvalidProgram);
    EXPECT_TRUE(log.contains("may be a constant")) << log.text();
  }
}

/// Two floats under the name "weight".
class OneTensor final : public runtime::NamedDataMap {
 public:
  runtime::Result<const runtime::TensorLayout> get_tensor_layout(
      std::string_view key) const override {
    if (key != "weight") {
      return Error::NotFound;
    }
    return runtime::TensorLayout::create({sizes_, 1}, {order_, 1}, type);
  }
  runtime::Result<runtime::FreeableBuffer> get_data(std::string_view) const override {
    return runtime::FreeableBuffer(
        data_, sizeof(data_), [](void* count, void*, size_t) { ++*static_cast<int*>(count); },
        &frees);
  }
  Error load_data_into(std::string_view, void* buffer, size_t size) const override {
    memcpy(buffer, data_, size);
    return Error::Ok;
  }
  runtime::Result<uint32_t> get_num_keys() const override { return 1u; }
  runtime::Result<const char*> get_key(uint32_t) const override { return "weight"; }

  aten::ScalarType type = aten::ScalarType::Float;
  mutable int frees = 0;

 private:
  int32_t sizes_[1] = {2};
  uint8_t order_[1] = {0};
  float data_[2] = {7, 8};
};

TEST(Method, FindsDataOutsideOfTheProgram) {
  for (const uint32_t memory_id : {0u, 1u}) {
    TestProgram source = add_program();
    TestTensor external;
    external.name = "weight";
    external.location = fb::TensorDataLocation::EXTERNAL;
    external.memory_id = memory_id;
    external.offset = memory_id == 0 ? 0 : 16;
    source.plans[0].values[1] = tensor(external);
    source.plans[0].inputs = {0};
    LoadedProgram program(source);
    MethodMemory memory(*program->method_meta("forward"));
    OneTensor data;
    FloatTensor x({1, 2});
    {
      Result<Method> method = program->load_method("forward", &memory.manager(), nullptr, &data);
      ASSERT_EQ(method.error(), Error::Ok);
      ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
      ASSERT_EQ(method->execute(), Error::Ok);
      EXPECT_EQ(floats(method->get_output(0)), (Floats{8, 10}));
    }
    EXPECT_EQ(data.frees, memory_id == 0 ? 1 : 0);
    const LogCapture log;
    memory.method_allocator().reset();
    EXPECT_EQ(program->load_method("forward", &memory.manager()).error(), Error::NotFound);
    EXPECT_TRUE(log.contains("weight")) << log.text();
    data.type = aten::ScalarType::Int;
    memory.method_allocator().reset();
    EXPECT_EQ(program->load_method("forward", &memory.manager(), nullptr, &data).error(),
              Error::InvalidExternalData);
  }
}

TEST(Method, CanBeMoved) {
  LoadedProgram program(add_program());
  MethodMemory memory(*program->method_meta("forward"));
  Result<Method> loaded = program->load_method("forward", &memory.manager());
  Method method(std::move(*loaded));
  FloatTensor x({1, 2});
  ASSERT_EQ(set_inputs(method, {x.value(), x.value()}), Error::Ok);
  EXPECT_EQ(method.execute(), Error::Ok);
  EXPECT_EQ(loaded->inputs_size(), 0u);
}

}  // namespace
}  // namespace executorch::testing
