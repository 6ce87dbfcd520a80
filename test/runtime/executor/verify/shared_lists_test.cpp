// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tables of a flatbuffer may share their lists: a small file can so have a thousand methods with a
// thousand numbers each. The verifier looks at no more items than the file has bytes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using flatbuffers::Offset;
using runtime::Error;

constexpr size_t kMany = 2000;

enum class List { Inputs, Outputs, BufferSizes, Offsets };

ProgramFile finish(flatbuffers::FlatBufferBuilder& b, Offset<fb::Program> root) {
  b.Finish(root, "ET12");
  return ProgramFile(std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()));
}

/// A program of `methods` methods, or tables of offsets, that have one list of `items` items.
ProgramFile sharing(List list, size_t methods, size_t items) {
  flatbuffers::FlatBufferBuilder b;
  const auto numbers = b.CreateVector(std::vector<int32_t>(items, 0));
  const auto wide = b.CreateVector(std::vector<int64_t>(items, 0));
  const auto offsets = b.CreateVector(std::vector<uint64_t>(items, 0));
  const std::vector<Offset<fb::EValue>> none = {
      fb::CreateEValue(b, fb::KernelTypes::Null, fb::CreateNull(b).Union())};
  const auto values = b.CreateVector(none);
  std::vector<Offset<fb::ExecutionPlan>> plans;
  std::vector<Offset<fb::SubsegmentOffsets>> tables;
  for (size_t i = 0; i < methods; ++i) {
    if (list == List::Offsets) {
      tables.push_back(fb::CreateSubsegmentOffsets(b, 0, offsets));
      continue;
    }
    const auto name = b.CreateString("forward" + std::to_string(i));
    fb::ExecutionPlanBuilder plan(b);
    plan.add_name(name);
    plan.add_values(values);
    if (list == List::Inputs) plan.add_inputs(numbers);
    if (list == List::Outputs) plan.add_outputs(numbers);
    if (list == List::BufferSizes) plan.add_non_const_buffer_sizes(wide);
    plans.push_back(plan.Finish());
  }
  const std::vector<Offset<fb::DataSegment>> segment = {fb::CreateDataSegment(b, 0, 0)};
  const auto all_plans = b.CreateVector(plans);
  const auto segments = b.CreateVector(segment);
  const auto all_tables = b.CreateVector(tables);
  return finish(b, fb::CreateProgram(b, 0, all_plans, 0, 0, segments, 0, all_tables));
}

/// A program of `operators` operators that have one name of `characters` characters.
ProgramFile sharing_a_name(size_t operators, size_t characters) {
  flatbuffers::FlatBufferBuilder b;
  const auto name = b.CreateString(std::string(characters, 'a'));
  std::vector<Offset<fb::Operator>> all;
  for (size_t i = 0; i < operators; ++i) all.push_back(fb::CreateOperator(b, name, name));
  const auto forward = b.CreateString("forward");
  const std::vector<Offset<fb::ExecutionPlan>> plans = {
      fb::CreateExecutionPlan(b, forward, 0, 0, 0, 0, 0, b.CreateVector(all))};
  return finish(b, fb::CreateProgram(b, 0, b.CreateVector(plans)));
}

TEST(SharedStrings, AreRefusedBeyondTheSizeOfTheFile) {
  const LogCapture log;
  EXPECT_EQ(load_error(sharing_a_name(kMany, 100 * kMany)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("flatbuffer: table Operator")) << log.text();
}

TEST(SharedStrings, AreAcceptedWhereTheyRepeatLittle) {
  EXPECT_EQ(load_error(sharing_a_name(4, 100 * kMany)), Error::Ok);
  EXPECT_EQ(load_error(sharing_a_name(kMany, 100)), Error::Ok);
}

/// A program of methods without anything but names of `characters` characters, which begin alike.
ProgramFile named_methods(size_t methods, size_t characters) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<Offset<fb::ExecutionPlan>> plans;
  for (size_t i = 0; i < methods; ++i) {
    const std::string number = std::to_string(i);
    const auto name = b.CreateString(std::string(characters - number.size(), 'a') + number);
    plans.push_back(fb::CreateExecutionPlan(b, name));
  }
  return finish(b, fb::CreateProgram(b, 0, b.CreateVector(plans)));
}

TEST(NamesOfMethods, AreRefusedWhereComparingThemAllTakesLong) {
  for (const size_t characters : {8u, 400u}) {
    const LogCapture log;
    EXPECT_EQ(load_error(named_methods(2 * kMany, characters)), Error::InvalidProgram);
    EXPECT_TRUE(log.contains("4000 methods are too many for a file of ")) << log.text();
  }
}

TEST(NamesOfMethods, AreAcceptedWhereTheyAreFew) {
  EXPECT_EQ(load_error(named_methods(200, 8)), Error::Ok);
  EXPECT_EQ(load_error(named_methods(200, 4000)), Error::Ok);
}

class SharedLists : public ::testing::TestWithParam<std::pair<List, std::string>> {};

TEST_P(SharedLists, AreRefusedBeyondTheSizeOfTheFile) {
  const auto& [list, name] = GetParam();
  const LogCapture log;
  EXPECT_EQ(load_error(sharing(list, kMany, kMany)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains(": lists repeat beyond the size of the file, with ")) << log.text();
  EXPECT_TRUE(log.contains(name)) << log.text();
}

TEST_P(SharedLists, AreAcceptedWhereTheyRepeatLittle) {
  EXPECT_EQ(load_error(sharing(GetParam().first, 2, kMany)), Error::Ok);
}

INSTANTIATE_TEST_SUITE_P(
    OfNumbers, SharedLists,
    ::testing::Values(std::make_pair(List::Inputs, std::string("2000 inputs")),
                      std::make_pair(List::Outputs, std::string("2000 outputs")),
                      std::make_pair(List::BufferSizes, std::string("2000 planned buffers")),
                      std::make_pair(List::Offsets, std::string("mutable data segment"))));

}  // namespace
}  // namespace executorch::testing
