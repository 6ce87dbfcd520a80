// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>
#include <string.h>

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
using runtime::Method;
using runtime::MethodMeta;
using runtime::Result;
using Kind = fb::KernelTypes;
using Floats = std::vector<float>;
using Loaded = LoadedMethod;

TEST(MethodLoad, TakesExactlyTheMemoryThatTheMetadataState) {
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

TEST(MethodLoad, NeedsItsPlannedMemory) {
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

TEST(MethodLoad, ListsAllMissingOperators) {
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

TEST(MethodLoad, RefusesKernelsWithOtherArguments) {
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

TEST(MethodLoad, UsesOnlyTheKernelsThatItIsGiven) {
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

TEST(MethodLoad, LoadsInitialValuesOfItsBuffers) {
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

TEST(MethodLoad, UsesConstantsInPlace) {
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

TEST(MethodLoad, NeverWritesToConstants) {
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

TEST(MethodLoad, FindsDataOutsideOfTheProgram) {
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

TEST(MethodLoad, CanBeMoved) {
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
