// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Writers may leave out vectors, strings and tables that are empty: they are read as empty.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using runtime::Error;

ProgramFile finish(FlatBufferBuilder& b, Offset<fb::Program> root) {
  b.Finish(root, "ET12");
  return ProgramFile(std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()));
}

ProgramFile program_of(FlatBufferBuilder& b, const std::vector<Offset<fb::ExecutionPlan>>& plans) {
  return finish(b, fb::CreateProgram(b, 0, b.CreateVector(plans)));
}

Error load_forward(LoadedProgram& program) {
  MethodMemory memory(*program->method_meta("forward"));
  return program->load_method("forward", &memory.manager()).error();
}

TEST(AbsentParts, AnEmptyProgramHasNoMethods) {
  FlatBufferBuilder b;
  LoadedProgram program(finish(b, fb::CreateProgram(b)));
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->num_methods(), 0u);
  EXPECT_EQ(program->method_meta("forward").error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_named_data_map().error(), Error::NotFound);
}

TEST(AbsentParts, AMethodWithOnlyANameRuns) {
  FlatBufferBuilder b;
  const std::vector<Offset<fb::Chain>> chains = {fb::CreateChain(b)};
  const auto chain = b.CreateVector(chains);
  LoadedProgram program(
      program_of(b, {fb::CreateExecutionPlan(b, b.CreateString("forward"), 0, 0, 0, 0, chain)}));
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_EQ(method->inputs_size() + method->outputs_size(), 0u);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(AbsentParts, TablesWithoutOffsetsReferToNoData) {
  FlatBufferBuilder b;
  const auto constants = fb::CreateSubsegmentOffsets(b);
  const std::vector<Offset<fb::SubsegmentOffsets>> tables = {fb::CreateSubsegmentOffsets(b)};
  const auto states = b.CreateVector(tables);
  EXPECT_TRUE(
      LoadedProgram(finish(b, fb::CreateProgram(b, 0, 0, 0, 0, 0, constants, states))).ok());
}

TEST(AbsentParts, AMethodWithoutEncodingsOfItsOutputsReturnsAnError) {
  FlatBufferBuilder b;
  const auto empty = fb::CreateContainerMetadata(b);
  LoadedProgram program(
      program_of(b, {fb::CreateExecutionPlan(b, b.CreateString("forward")),
                     fb::CreateExecutionPlan(b, b.CreateString("other"), empty)}));
  const LogCapture log;
  for (const char* name : {"forward", "other", "none"}) {
    EXPECT_EQ(program->get_output_flattening_encoding(name).error(), Error::InvalidArgument);
  }
  EXPECT_TRUE(log.contains("method 'other' has no output encoding"));
}

TEST(AbsentParts, AnOperatorWithoutOverloadIsFoundByItsName) {
  FlatBufferBuilder b;
  const std::vector<Offset<fb::Operator>> operators = {
      fb::CreateOperator(b, b.CreateString("test::nothing"))};
  const std::vector<Offset<fb::Instruction>> code = {fb::CreateInstruction(
      b, fb::InstructionArguments::KernelCall, fb::CreateKernelCall(b).Union())};
  const std::vector<Offset<fb::Chain>> chains = {fb::CreateChain(b, 0, 0, b.CreateVector(code))};
  const auto all = b.CreateVector(operators);
  LoadedProgram program(
      program_of(b, {fb::CreateExecutionPlan(b, b.CreateString("forward"), 0, 0, 0, 0,
                                             b.CreateVector(chains), all)}));
  ASSERT_TRUE(program.ok());
  const LogCapture log;
  EXPECT_EQ(load_forward(program), Error::OperatorMissing);
  EXPECT_TRUE(log.contains("no kernel for operator test::nothing"));
}

TEST(AbsentParts, DelegatesWithoutDataOrSpecsAreRefused) {
  const auto program_with = [](fb::DataLocation location) {
    FlatBufferBuilder b;
    const auto data = fb::CreateBackendDelegateDataReference(b, location, 0);
    const std::vector<Offset<fb::BackendDelegate>> delegates = {
        fb::CreateBackendDelegate(b, b.CreateString("NoBackend"), data)};
    const std::vector<Offset<fb::DataSegment>> segment = {fb::CreateDataSegment(b, 0, 0)};
    const auto all = b.CreateVector(delegates);
    const std::vector<Offset<fb::ExecutionPlan>> plans = {
        fb::CreateExecutionPlan(b, b.CreateString("forward"), 0, 0, 0, 0, 0, 0, all)};
    const auto segments = b.CreateVector(segment);
    return finish(b, fb::CreateProgram(b, 0, b.CreateVector(plans), 0, 0, segments));
  };
  const LogCapture log;
  EXPECT_EQ(load_error(program_with(fb::DataLocation::INLINE)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("delegate 0 (NoBackend): data 0 of 0"));
  LoadedProgram program(program_with(fb::DataLocation::SEGMENT));
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(load_forward(program), Error::NotFound);
}

}  // namespace
}  // namespace executorch::testing
