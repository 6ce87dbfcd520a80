// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The walk over the bytes, against flatbuffers' own generated verifier.
#include <gtest/gtest.h>
#include <string.h>

#include <random>
#include <string>

#include <executorch/runtime/executor/verify/program_structure.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::internal::verify_program_structure;

bool ours(const ProgramFile& file) {
  return verify_program_structure({file.data(), file.size()}) == Error::Ok;
}

bool theirs(const ProgramFile& file) {
  flatbuffers::Verifier verifier(file.data(), file.size());
  return fb::VerifyProgramBuffer(verifier);
}

/// One of every table, without segments: flatbuffers' verifier knows no extended header.
TestProgram every_table() {
  TestProgram program = add_program();
  TestPlan& plan = program.plans[0];
  TestTensor external;
  external.name = "name";
  external.location = fb::TensorDataLocation::EXTERNAL;
  for (TestValue value :
       {tensor(external), integer(1), boolean(true), real(2), string("text"),
        list(fb::KernelTypes::IntList, {4}), list(fb::KernelTypes::BoolList, {1}),
        list(fb::KernelTypes::DoubleList, {}), list(fb::KernelTypes::TensorList, {0}),
        list(fb::KernelTypes::OptionalTensorList, {-1}), none()}) {
    plan.values.push_back(value);
  }
  plan.delegates = {{"Nothing", fb::DataLocation::INLINE, 0, {{"key", "value"}}}};
  plan.devices = {{1, fb::DeviceType::CPU}};
  plan.chains[0] = {kernel(0, {0, 1, 2, 2}), move(0, 1), jump_false(5, 4), delegate(0, {0}),
                    free_value(2)};
  program.inline_data = {"payload"};
  program.constant_buffer = {"", "12345678"};
  program.segments = {{0, 0}};
  program.mutable_data = {{0, {0}}};
  program.named_data = {{"name", 0}};
  return program;
}

TEST(ProgramStructure, AcceptsWhatFlatbuffersAccepts) {
  const ProgramFile file(every_table());
  EXPECT_TRUE(theirs(file));
  EXPECT_TRUE(ours(file));
}

TEST(ProgramStructure, RefusesAtLeastWhatFlatbuffersRefuses) {
  const LogCapture log;
  const ProgramFile original(every_table());
  const std::string bytes(reinterpret_cast<const char*>(original.data()), original.size());
  std::mt19937 random(5);
  int refused = 0;
  for (int run = 0; run < 40000; ++run) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    if (run % 3 == 0) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    const ProgramFile file(changed);
    if (!theirs(file) && memcmp(file.data() + 4, "ET12", 4) == 0) {
      EXPECT_FALSE(ours(file)) << "run " << run;
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ProgramStructure, RefusesEveryTruncation) {
  const LogCapture log;
  const ProgramFile original(every_table());
  const std::string bytes(reinterpret_cast<const char*>(original.data()), original.size());
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ProgramFile file(bytes.substr(0, size));
    refused += ours(file) ? 0 : 1;
    EXPECT_TRUE(!ours(file) || theirs(file)) << "cut after " << size << " bytes";
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) * 9 / 10);
}

TEST(ProgramStructure, LogsThePlaceOfTheFault) {
  flatbuffers::FlatBufferBuilder builder;
  const auto value = fb::CreateEValue(builder, fb::KernelTypes::NONE, 0);
  const auto plan = fb::CreateExecutionPlan(
      builder, builder.CreateString("forward"), 0,
      builder.CreateVector(std::vector<flatbuffers::Offset<fb::EValue>>{value}));
  builder.Finish(fb::CreateProgram(builder, 0, builder.CreateVector(std::vector{plan})), "ET12");
  const ProgramFile file(
      std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()));
  const LogCapture log;
  EXPECT_EQ(load_error(file), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("table EValue")) << log.text();
  EXPECT_TRUE(log.contains("missing")) << log.text();
}

TEST(ProgramStructure, RefusesTablesSharedAThousandfold) {
  // A thousand plans that are one, with a thousand values that are one: a million tables in a few
  // kilobytes.
  flatbuffers::FlatBufferBuilder builder;
  const auto value =
      fb::CreateEValue(builder, fb::KernelTypes::Null, fb::CreateNull(builder).Union());
  const auto values =
      builder.CreateVector(std::vector<flatbuffers::Offset<fb::EValue>>(1000, value));
  const auto plan = fb::CreateExecutionPlan(builder, builder.CreateString("forward"), 0, values);
  const auto plans =
      builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>(1000, plan));
  builder.Finish(fb::CreateProgram(builder, 0, plans), "ET12");
  const ProgramFile file(
      std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()));
  const LogCapture log;
  EXPECT_FALSE(ours(file));
}

}  // namespace
}  // namespace executorch::testing
