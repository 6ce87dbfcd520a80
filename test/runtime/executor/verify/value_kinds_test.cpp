// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Values of every kind as inputs and outputs, in messages, and the data that programs have by name.
#include <gtest/gtest.h>

#include <string.h>

#include <string>
#include <vector>

#include <executorch/runtime/core/named_data_map.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Tag;
using Kind = fb::KernelTypes;

/// A value of each kind; 0 and 1 are tensors.
std::vector<TestValue> every_kind() {
  TestValue doubles = list(Kind::DoubleList, {});
  doubles.reals = {0.5};
  return {planned(2, 0),
          planned(2, 16),
          integer(7),
          boolean(true),
          real(1.5),
          string("text"),
          list(Kind::IntList, {2}),
          doubles,
          list(Kind::BoolList, {1, 0}),
          list(Kind::TensorList, {0, 1}),
          list(Kind::OptionalTensorList, {0, -1}),
          none()};
}

TestProgram program_of(const TestPlan& plan) {
  TestProgram program;
  program.plans = {plan};
  return program;
}

TEST(ValueKindsTest, TheMetadataHaveTheTagsOfAllKinds) {
  TestPlan plan;
  plan.values = every_kind();
  const Tag tags[] = {Tag::Tensor,
                      Tag::Tensor,
                      Tag::Int,
                      Tag::Bool,
                      Tag::Double,
                      Tag::String,
                      Tag::ListInt,
                      Tag::ListDouble,
                      Tag::ListBool,
                      Tag::ListTensor,
                      Tag::ListOptionalTensor,
                      Tag::None};
  for (size_t i = 0; i < plan.values.size(); ++i) {
    plan.inputs.push_back(static_cast<int32_t>(i));
    plan.outputs.push_back(static_cast<int32_t>(i));
  }
  LoadedProgram program(program_of(plan));
  ASSERT_TRUE(program.ok());
  const auto meta = program->method_meta("forward");
  ASSERT_TRUE(meta.ok());
  for (size_t i = 0; i < plan.values.size(); ++i) {
    EXPECT_EQ(*meta->input_tag(i), tags[i]) << i;
    EXPECT_EQ(*meta->output_tag(i), tags[i]) << i;
  }
}

TEST(ValueKindsTest, InputsThatAreNoTensorsTakeOnlyTheProgramsValue) {
  TestPlan plan;
  plan.values = every_kind();
  plan.inputs = {2, 3, 4, 5, 6, 11};
  LoadedMethod method(program_of(plan));
  ASSERT_EQ(method.error(), Error::Ok);
  aten::ArrayRef<char> same("text", 4);
  aten::ArrayRef<char> other("test", 4);
  EXPECT_EQ(method->set_input(EValue(int64_t{7}), 0), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(true), 1), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(1.5), 2), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(&same), 3), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(), 5), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->set_input(EValue(int64_t{8}), 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(false), 1), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(2.5), 2), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(&other), 3), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(int64_t{1}), 1), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(method->get_input(4), 4), Error::InvalidArgument) << "a list";
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(ValueKindsTest, AFailureIsReportedWithArgumentsOfEveryKind) {
  TestPlan plan;
  plan.values = every_kind();
  plan.inputs = {0};
  plan.operators = {{"test::fail", "out"}};
  plan.chains = {{kernel(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}};
  LoadedMethod method(program_of(plan));
  ASSERT_EQ(method.error(), Error::Ok);
  float data[] = {1, 2};
  int32_t sizes[] = {2};
  uint8_t order[] = {0};
  aten::TensorImpl impl(aten::ScalarType::Float, 1, sizes, data, order);
  ASSERT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 0), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::NotSupported);
  for (const char* part : {"test::fail.out", "7", "true", "1.5", "\"text\"", "a list", "None"}) {
    EXPECT_NE(log.text().find(part), std::string::npos) << part << "\n" << log.text();
  }
}

TEST(ValueKindsTest, AMovedMethodReturnsErrors) {
  LoadedMethod loaded(add_program());
  ASSERT_EQ(loaded.error(), Error::Ok);
  const runtime::Method method(std::move(*loaded));
  EXPECT_EQ(method.inputs_size(), 2u);
  const LogCapture log;
  EXPECT_EQ(loaded->execute(), Error::InvalidState);
  EXPECT_EQ(loaded->step(), Error::InvalidState);
  EXPECT_EQ(loaded->reset_execution(), Error::InvalidState);
  EXPECT_EQ(loaded->clear_input(0), Error::InvalidState);
  EXPECT_EQ(loaded->get_attribute("a").error(), Error::InvalidState);
  EXPECT_EQ(loaded->outputs_size(), 0u);
}

/// Data that the caller has: one entry, "given".
class GivenData final : public runtime::NamedDataMap {
 public:
  Result<const runtime::TensorLayout> get_tensor_layout(std::string_view key) const override {
    static const int32_t sizes[] = {2};
    static const uint8_t order[] = {0};
    if (key != "given") {
      return Error::NotFound;
    }
    return runtime::TensorLayout::create({sizes, 1}, {order, 1}, aten::ScalarType::Float);
  }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    if (key != "given") {
      return Error::NotFound;
    }
    return FreeableBuffer(numbers, sizeof(numbers), nullptr);
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    if (key != "given") {
      return Error::NotFound;
    }
    memcpy(buffer, numbers, size);
    return Error::Ok;
  }
  Result<uint32_t> get_num_keys() const override { return 1; }
  Result<const char*> get_key(uint32_t) const override { return "given"; }

  float numbers[2] = {3, 4};
};

/// Reads all that it is given by name.
class ReadingBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<runtime::DelegateHandle*> init(runtime::BackendInitContext& context,
                                        runtime::FreeableBuffer*,
                                        runtime::ArrayRef<runtime::CompileSpec>) const override {
    const runtime::NamedDataMap& data = *context.get_named_data_map();
    keys.clear();
    for (uint32_t i = 0; i < *data.get_num_keys(); ++i) {
      keys.emplace_back(*data.get_key(i));
    }
    last_key = data.get_key(*data.get_num_keys()).error();
    own = data.get_data("own").ok();
    given = data.get_data("given").ok();
    own_layout = data.get_tensor_layout("own").error();
    given_layout = data.get_tensor_layout("given").error();
    char bytes[8] = {};
    own_loaded = data.load_data_into("own", bytes, 4);
    own_bytes.assign(bytes, 4);
    wrong_size = data.load_data_into("own", bytes, 3);
    given_loaded = data.load_data_into("given", bytes, 8);
    missing = data.get_data("missing").error();
    missing_loaded = data.load_data_into("missing", bytes, 1);
    return static_cast<runtime::DelegateHandle*>(nullptr);
  }
  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle*,
                runtime::Span<EValue*>) const override {
    return Error::Ok;
  }

  mutable std::vector<std::string> keys;
  mutable bool own = false, given = false;
  mutable std::string own_bytes;
  mutable Error last_key{}, own_layout{}, given_layout{}, own_loaded{}, wrong_size{},
      given_loaded{}, missing{}, missing_loaded{};
};

ReadingBackend backend;
[[maybe_unused]] const Error registered = runtime::register_backend({"ReadingBackend", &backend});

TestProgram named_data_program() {
  TestPlan plan;
  plan.values = {planned(2, 0)};
  plan.delegates = {{"ReadingBackend"}};
  plan.chains = {{delegate(0, {0})}};
  TestProgram program = program_of(plan);
  program.inline_data = {"payload"};
  program.segments = {{0, 4}};
  program.segment_data = "data";
  program.named_data = {{"own", 0}};
  return program;
}

TEST(NamedDataTest, BackendsFindTheProgramsDataAndTheCallers) {
  LoadedProgram program(named_data_program());
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  const GivenData data;
  const LogCapture log;
  ASSERT_TRUE(program->load_method("forward", &memory.manager(), nullptr, &data).ok());
  EXPECT_EQ(backend.keys, (std::vector<std::string>{"given", "own"}));
  EXPECT_EQ(backend.last_key, Error::InvalidArgument);
  EXPECT_TRUE(backend.own && backend.given);
  EXPECT_EQ(backend.own_layout, Error::NotFound);
  EXPECT_EQ(backend.given_layout, Error::Ok);
  EXPECT_EQ(backend.own_loaded, Error::Ok);
  EXPECT_EQ(backend.own_bytes, "data");
  EXPECT_EQ(backend.wrong_size, Error::InvalidArgument);
  EXPECT_EQ(backend.given_loaded, Error::Ok);
  EXPECT_EQ(backend.missing, Error::NotFound);
  EXPECT_EQ(backend.missing_loaded, Error::NotFound);
}

TEST(NamedDataTest, WithoutACallersMapTheProgramsIsUsed) {
  LoadedProgram program(named_data_program());
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  const LogCapture log;
  ASSERT_TRUE(program->load_method("forward", &memory.manager()).ok());
  EXPECT_EQ(backend.keys, std::vector<std::string>{"own"});
  EXPECT_TRUE(backend.own && !backend.given);
  EXPECT_EQ(backend.given_layout, Error::NotFound);
  const auto map = program->get_named_data_map();
  ASSERT_TRUE(map.ok());
  EXPECT_EQ((*map)->get_data("missing").error(), Error::NotFound);
  EXPECT_TRUE((*map)->get_data("own").ok());
}

}  // namespace
}  // namespace executorch::testing
