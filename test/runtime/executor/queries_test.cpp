// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Queries of programs and methods, with arguments that fit and that do not.
#include <gtest/gtest.h>
#include <string.h>

#include <array>
#include <string>
#include <vector>

#include "../log_capture.h"
#include "../silent_tracer.h"
#include "loaded_program.h"
#include "relations.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Program;
using runtime::Tag;

TEST(Queries, AllInputsAndOutputsAreGivenAtOnce) {
  LoadedMethod method(add_program());
  FloatTensor a({1, 2});
  FloatTensor b({3, 4});
  ASSERT_EQ(set_inputs(*method, {a.value(), b.value()}), Error::Ok);
  std::array<EValue, 4> values;
  ASSERT_EQ(method->get_inputs(values.data(), values.size()), Error::Ok);
  EXPECT_TRUE(values[0].isTensor() && values[1].isTensor());
  EXPECT_TRUE(values[2].isNone() && values[3].isNone());
  ASSERT_EQ(method->execute(), Error::Ok);
  ASSERT_EQ(method->get_outputs(values.data(), values.size()), Error::Ok);
  EXPECT_EQ(values[0].toTensor().const_data_ptr<float>()[1], 6);
  EXPECT_TRUE(values[1].isNone());
}

TEST(Queries, InputsAndOutputsNeedRoom) {
  LoadedMethod method(add_program());
  EValue value;
  const LogCapture log;
  EXPECT_EQ(method->get_inputs(&value, 1), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("room for 1 inputs, expected 2"));
  EXPECT_EQ(method->get_inputs(nullptr, 2), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("no array for 2 inputs"));
  EXPECT_EQ(method->get_outputs(&value, 0), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("room for 0 outputs, expected 1"));
  EXPECT_EQ(method->get_outputs(nullptr, 1), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("no array for 1 outputs"));
  EXPECT_EQ(method->get_outputs(nullptr, 0), Error::InvalidArgument);
}

TEST(Queries, AMethodThatWasMovedFromReturnsErrors) {
  LoadedMethod method(add_program());
  const Method taken(std::move(*method));
  const LogCapture log;
  EXPECT_EQ(method->get_inputs(nullptr, 0), Error::InvalidState);
  EXPECT_EQ(method->get_outputs(nullptr, 0), Error::InvalidState);
  EXPECT_EQ(method->get_attribute("x").error(), Error::InvalidState);
  EXPECT_EQ(method->set_output_data_ptr(nullptr, 0, 0), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::InvalidState);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->clear_input(0), Error::InvalidState);
  EXPECT_TRUE(log.contains("was moved from"));
}

TEST(Queries, PlannedBuffersAreThoseOfTheFile) {
  TestProgram source = related_program();
  LoadedProgram program(source);
  const auto meta = *program->method_meta("forward");
  ASSERT_EQ(meta.num_memory_planned_buffers(), 2u);
  EXPECT_TRUE(meta.memory_planned_buffer_has_state(0));
  EXPECT_FALSE(meta.memory_planned_buffer_has_state(1));
  EXPECT_FALSE(meta.memory_planned_buffer_has_state(SIZE_MAX));
  EXPECT_EQ(meta.initial_state_bytes(), 8u);
  EXPECT_TRUE(meta.memory_planned_buffer_device(1)->is_cpu());
  EXPECT_EQ(meta.memory_planned_buffer_device(2).error(), Error::InvalidArgument);
  EXPECT_EQ(*meta.memory_planned_buffer_size(1), 64);
  EXPECT_EQ(meta.memory_planned_buffer_size(2).error(), Error::InvalidArgument);
  MethodMemory memory(meta, 64);
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(*method->memory_planned_buffer_size(0), 128u);
  EXPECT_EQ(method->memory_planned_buffer_size(2).error(), Error::InvalidArgument);
  EXPECT_EQ(method->delegate_scratch_size(), 0u);
}

TEST(Queries, StateIsFoundInAnyOfManyBuffersAndInAnyOrder) {
  TestProgram source = related_program();
  auto& sizes = plan(source).buffer_sizes;
  sizes.resize(101, 64);
  for (const uint32_t buffer : {31u, 32u, 33u, 64u, 100u}) {
    TestTensor named;
    named.name = "state" + std::to_string(buffer);
    named.memory_id = buffer;
    plan(source).values.push_back(tensor(named));
  }
  LoadedProgram program(source);
  const auto meta = *program->method_meta("forward");
  const auto has_state = [&meta](size_t index) {
    return meta.memory_planned_buffer_has_state(index);
  };
  std::vector<size_t> stateful;
  for (size_t i = 0; i < 130; ++i) {
    if (has_state(i)) stateful.push_back(i + 1);
  }
  EXPECT_EQ(stateful, (std::vector<size_t>{1, 31, 32, 33, 64, 100}));
  EXPECT_TRUE(has_state(99) && has_state(0) && has_state(63) && has_state(30));
  EXPECT_FALSE(has_state(98) || has_state(1) || has_state(62) || has_state(SIZE_MAX - 1));
}

TEST(Queries, NamedStateIsStateThoughItHasNoData) {
  TestProgram source = related_program();
  plan(source).values[kSecond].tensor.name = "counter";
  plan(source).values[kState].tensor.data_buffer_idx = 0;
  LoadedProgram program(source);
  const auto meta = *program->method_meta("forward");
  EXPECT_TRUE(meta.memory_planned_buffer_has_state(0));
  EXPECT_EQ(meta.num_attributes(), 1u);
  EXPECT_EQ(meta.attribute_tensor_meta(1).error(), Error::InvalidArgument);
}

TEST(Queries, ConstantsAreCountedWhereverTheyAre) {
  LoadedProgram in_segment(related_program());
  EXPECT_EQ(in_segment->constants_size(), 32u);
  TestProgram source = add_program();
  source.constant_buffer = {"", "12345678"};
  LoadedProgram inside(source);
  EXPECT_EQ(inside->constants_size(), 8u);
}

TEST(Queries, ASegmentOfConstantsMayBeEmpty) {
  TestProgram source = add_program();
  source.segments = {{0, 0}};
  source.segment_data = "unused";
  source.constants = {0, {0, 0}};
  TestTensor nothing;
  nothing.sizes = {0};
  nothing.data_buffer_idx = 1;
  source.plans[0].values.push_back(tensor(nothing));
  LoadedMethod method(source);
  EXPECT_EQ(method.error(), Error::Ok);
}

TEST(Queries, HeadersAreDistinguished) {
  const ProgramFile file(add_program());
  std::string bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const auto check = [&bytes](size_t size) { return Program::check_header(bytes.data(), size); };
  using Status = Program::HeaderStatus;
  EXPECT_EQ(check(bytes.size()), Status::CompatibleVersion);
  EXPECT_EQ(check(7), Status::ShortData);
  EXPECT_EQ(Program::check_header(nullptr, 64), Status::ShortData);
  bytes[7] = '9';
  EXPECT_EQ(check(bytes.size()), Status::IncompatibleVersion);
  bytes[4] = 'x';
  EXPECT_EQ(check(bytes.size()), Status::NotPresent);
}

TEST(Queries, MethodsAndTheirEncodingsHaveNames) {
  LoadedProgram program(add_program());
  const LogCapture log;
  EXPECT_EQ(program->method_meta(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(program->method_meta("backward").error(), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("the program has no method 'backward'; it has 1, the first is"));
  EXPECT_EQ(program->get_method_name(1).error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_output_flattening_encoding("backward").error(), Error::InvalidArgument);
  EXPECT_EQ(program->load_method("forward", nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(program->load_method("backward", nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(Program::load(nullptr).error(), Error::InvalidArgument);
}

TEST(Queries, KindsOfValuesAreThoseOfTheFile) {
  TestProgram source = related_program();
  plan(source).values.push_back(none());
  plan(source).values.push_back(real(2));
  plan(source).values.push_back(list(fb::KernelTypes::BoolList, {1}));
  plan(source).values.push_back(list(fb::KernelTypes::DoubleList, {}));
  plan(source).outputs = {kOther, kSizes, kTwo,       kFalse,     kOperands, kOptional,
                          kText,  kAdded, kAdded + 1, kAdded + 2, kAdded + 3};
  LoadedProgram program(source);
  ASSERT_TRUE(program.ok());
  const auto meta = *program->method_meta("forward");
  const Tag expected[] = {Tag::Tensor,   Tag::ListInt,    Tag::Int,
                          Tag::Bool,     Tag::ListTensor, Tag::ListOptionalTensor,
                          Tag::String,   Tag::None,       Tag::Double,
                          Tag::ListBool, Tag::ListDouble};
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    EXPECT_EQ(*meta.output_tag(i), expected[i]) << i;
    EXPECT_EQ(meta.output_tensor_meta(i).ok(), i == 0) << i;
  }
  EXPECT_EQ(meta.output_tag(11).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.input_tensor_meta(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.operator_name(99).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.get_backend_name(99).error(), Error::InvalidArgument);
  EXPECT_TRUE(meta.uses_backend("OutputsBackend"));
  EXPECT_FALSE(meta.uses_backend("Another"));
}

TEST(Queries, ItemsOfListsNeedMemoryToo) {
  for (const bool optional : {false, true}) {
    TestProgram source = related_program();
    plan(source).values[optional ? kOptional : kOperands].list = {kFirst, kGiven};
    if (optional) {
      plan(source).values[kOptional].list.push_back(-1);
    }
    plan(source).inputs = {};
    plan(source).outputs = {kResult};
    const int32_t argument = optional ? kOptional : kOperands;
    code(source) = {kernel(optional ? kPick : kJoin, {argument, kResult, kResult})};
    LoadedMethod method(source, 64);
    ASSERT_EQ(method.error(), Error::Ok);
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::InvalidState);
    EXPECT_TRUE(log.contains("argument 0 has no memory")) << log.text();
  }
}

}  // namespace
}  // namespace executorch::testing
