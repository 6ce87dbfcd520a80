// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The rules of docs/alias-model.md: each with programs that break it, and with those that come as
// near as they may.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/relations.h"
#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Program;
using runtime::Result;
using Floats = std::vector<float>;
using Kind = fb::KernelTypes;

class RelationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(RelationTest, IsRefusedByName) {
  TestProgram program = related_program();
  GetParam().change(program);
  const LogCapture log;
  EXPECT_EQ(refusal(program), Error::InvalidProgram);
  for (const std::string& part : GetParam().message) {
    EXPECT_TRUE(log.contains(part)) << "expected: " << part << "\nfound: " << log.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Mutations, RelationTest, ::testing::ValuesIn(mutations()), NameOfRow());

TEST(AliasModel, HasAtLeastAHundredMutations) { EXPECT_GE(mutations().size(), 100u); }

TEST(AliasModel, AcceptsTheProgramThatTheMutationsChange) {
  EXPECT_EQ(refusal(related_program()), Error::Ok);
}

TEST(AliasModel, AcceptsEveryWayToWriteToATensorOfItsOwn) {
  for (const Access& writer : writers()) {
    TestProgram program = related_program();
    writer.add(program, kResult);
    EXPECT_EQ(refusal(program), Error::Ok) << writer.name;
  }
}

TEST(AliasModel, AcceptsEveryWayToReadATensorThatIsElsewhere) {
  for (const Access& reader : readers()) {
    for (const int32_t value : {int32_t{kFirst}, int32_t{kConstant}, int32_t{kView}}) {
      TestProgram program = related_program();
      reader.add(program, value);
      EXPECT_EQ(refusal(program), Error::Ok) << reader.name << ", value " << value;
    }
  }
}

TEST(AliasModel, AcceptsAnOperandWhereTheResultIsIfTheKernelAllowsIt) {
  for (const Access& reader : readers_in_place()) {
    TestProgram program = related_program();
    plan(program).values.push_back(planned(2, 16));
    reader.add(program, kAdded);
    EXPECT_EQ(refusal(program), Error::Ok) << reader.name << " lies where the result is";
    program = related_program();
    reader.add(program, kResult);
    EXPECT_EQ(refusal(program), Error::Ok) << reader.name << " is the result";
  }
}

TEST(AliasModel, AcceptsAnOptionalListWithAValueThatIsNone) {
  TestProgram program = related_program();
  plan(program).values.push_back(none());
  plan(program).values[kOptional].list = {kFirst, kAdded, -1};
  code(program).push_back(kernel(kPick, {kOptional, kResult, kResult}));
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, AcceptsTensorsWithoutElementsAnywhere) {
  TestProgram program = related_program();
  plan(program).values.push_back(planned(0, 20));
  code(program).push_back(kernel(kApart, {kAdded, kSecond, kResult, kResult}));
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, AcceptsAViewAtItsBasesPlace) {
  TestProgram program = related_program();
  plan(program).values[kView] = planned(2, 0);
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, AcceptsBranchesThatPassTheirTensorsOn) {
  // Both lie at one place: they are never there at the same time.
  TestProgram program = related_program();
  plan(program).values.push_back(planned(2, 16));
  code(program) = {jump_false(kFalse, 4),
                   kernel(kApart, {kFirst, kSecond, kResult, kResult}),
                   move(kResult, kTarget),
                   jump_false(kFalse, 6),
                   kernel(kApart, {kSecond, kFirst, kAdded, kAdded}),
                   move(kAdded, kTarget),
                   kernel(kApart, {kTarget, kSecond, kOther, kOther})};
  EXPECT_EQ(refusal(program), Error::Ok);
}

/// Executes with the inputs 1, 2 and 3, 4.
Error execute(Method& method) {
  FloatTensor a({1, 2});
  FloatTensor b({3, 4});
  const Error error = set_inputs(method, {a.value(), b.value()});
  return error == Error::Ok ? method.execute() : error;
}

TEST(AliasModel, LeavesValuesAsTheProgramHasThem) {
  LoadedMethod method(related_program(), 64);
  ASSERT_EQ(method.error(), Error::Ok);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(execute(*method), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0))[0], 3);
  }
}

/// A view of the caller's memory, which a condition leaves out; then it is read.
TestProgram conditional_view() {
  TestProgram program = related_program();
  plan(program).values.push_back(tensor(without_memory(fb::ScalarType::BOOL, {1}, {0})));
  plan(program).inputs = {kGiven, kAdded};
  code(program) = {jump_false(kAdded, 2), view_of(kGiven, kView),
                   kernel(kApart, {kView, kView, kOther, kOther})};
  return program;
}

Error execute_if(Method& method, bool condition, FloatTensor& given) {
  uint8_t truth = condition ? 1 : 0;
  int32_t size = 1;
  uint8_t order = 0;
  int32_t stride = 1;
  aten::TensorImpl impl(aten::ScalarType::Bool, 1, &size, &truth, &order, &stride);
  const Error error = set_inputs(method, {given.value(), EValue(aten::Tensor(&impl))});
  return error == Error::Ok ? method.execute() : error;
}

TEST(AliasModel, ViewsShowNothingWhenAnExecutionBegins) {
  LoadedMethod method(conditional_view(), 64);
  ASSERT_EQ(method.error(), Error::Ok);
  {
    FloatTensor given({1, 2});
    ASSERT_EQ(execute_if(*method, true, given), Error::Ok);
  }
  FloatTensor other({5, 6});
  const LogCapture log;
  EXPECT_EQ(execute_if(*method, false, other), Error::InvalidState);
  EXPECT_TRUE(log.contains("instruction 2: argument 0 has no memory")) << log.text();
  EXPECT_TRUE(log.contains("a view has to be made in the same execution")) << log.text();
  EXPECT_EQ(execute_if(*method, true, other), Error::Ok);
}

TEST(AliasModel, ViewsThatAMovePassesOnShowNothingWhenAnExecutionBegins) {
  TestProgram program = conditional_view();
  code(program) = {jump_false(kAdded, 3), view_of(kGiven, kView), move(kView, kTarget),
                   kernel(kApart, {kTarget, kTarget, kOther, kOther})};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  {
    FloatTensor given({1, 2});
    ASSERT_EQ(execute_if(*method, true, given), Error::Ok);
  }
  FloatTensor other({5, 6});
  EXPECT_EQ(execute_if(*method, false, other), Error::InvalidState);
}

TEST(AliasModel, PlannedViewsShowNothingWhenAnExecutionBegins) {
  TestProgram program = conditional_view();
  plan(program).inputs = {kFirst, kAdded};
  plan(program).values[kView] = planned(2, 0);
  code(program)[1] = view_of(kFirst, kView);
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor given({1, 2});
  EXPECT_EQ(execute_if(*method, false, given), Error::InvalidState);
  EXPECT_EQ(execute_if(*method, true, given), Error::Ok);
  EXPECT_EQ(execute_if(*method, false, given), Error::InvalidState);
}

TEST(AliasModel, OnlyViewsOfGivenInputsShowNothingOnceInputsAreReleased) {
  // kView shows kSecond, which is planned; kAdded and kAdded + 1 are views of a view of an input.
  TestProgram program = related_program();
  for (int i = 0; i < 2; ++i) {
    plan(program).values.push_back(plan(program).values[kView]);
  }
  plan(program).inputs = {kSecond, kGiven};
  plan(program).outputs = {kView, kAdded, kAdded + 1};
  code(program) = {view_of(kGiven, kAdded), view_of(kSecond, kView), view_of(kAdded, kAdded + 1)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor planned({1, 2}), given({3, 4});
  ASSERT_EQ(set_inputs(*method, {planned.value(), given.value()}), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->get_output(1).toTensor().const_data_ptr(), given.data());
  EXPECT_EQ(method->get_output(2).toTensor().const_data_ptr(), given.data());
  ASSERT_EQ(method->release_inputs(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{1, 2}));
  EXPECT_EQ(method->get_output(1).toTensor().const_data_ptr(), nullptr);
  EXPECT_EQ(method->get_output(2).toTensor().const_data_ptr(), nullptr);
}

TEST(AliasModel, APlannedViewOfWhatAMovePassedOnShowsNothingOnceInputsAreReleased) {
  TestProgram program = related_program();
  plan(program).values.push_back(plan(program).values[kTarget]);
  plan(program).inputs = {kGiven};
  plan(program).outputs = {kAdded};
  code(program) = {move(kGiven, kTarget), view_of(kTarget, kAdded)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor given({3, 4});
  ASSERT_EQ(set_inputs(*method, {given.value()}), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  ASSERT_EQ(method->get_output(0).toTensor().const_data_ptr(), given.data());
  ASSERT_EQ(method->release_inputs(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr(), nullptr);
}

TEST(AliasModel, APlannedInputIsNotConsumedBecauseAGivenOneMayTakeItsPlace) {
  TestProgram program = related_program();
  plan(program).inputs = {kFirst, kGiven};
  code(program) = {move(kFirst, kTarget), move(kGiven, kTarget),
                   kernel(kApart, {kTarget, kTarget, kOther, kOther})};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor planned({1, 2}), given({3, 4});
  ASSERT_EQ(set_inputs(*method, {planned.value(), given.value()}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(AliasModel, AViewThatIsUsedBeforeItIsMadeShowsNothing) {
  TestProgram program = conditional_view();
  plan(program).inputs = {kGiven};
  code(program) = {kernel(kApart, {kView, kView, kOther, kOther}), view_of(kGiven, kView)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor given({1, 2});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(method->set_input(given.value(), 0), Error::Ok);
    EXPECT_EQ(method->execute(), Error::InvalidState);
  }
}

TEST(AliasModel, AnOutputThatWasMovedToGetsItsOwnMemory) {
  // The output becomes the planned tensor; the caller's memory must not become that tensor's.
  TestProgram program = related_program();
  plan(program).inputs = {kFirst, kSecond};
  plan(program).outputs = {kGiven};
  code(program) = {kernel(kApart, {kFirst, kSecond, kResult, kResult}), move(kResult, kGiven)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  Floats memory(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(method->set_output_data_ptr(memory.data(), 8, 0), Error::Ok);
    ASSERT_EQ(execute(*method), Error::Ok);
    EXPECT_NE(method->get_output(0).toTensor().const_data_ptr(), memory.data());
  }
  EXPECT_EQ(memory, (Floats{0, 0}));
}

TEST(AliasModel, AnInputThatADelegateMayWriteToIsNotUnaliased) {
  TestProgram program = related_program();
  plan(program).values[kOperands].list = {kResult};
  plan(program).values[kOptional].list = {-1};
  code(program) = {delegate(kTwoOutputs, {kSecond, kFirst, kOther})};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_FALSE(method->is_input_unaliased(0));
  EXPECT_TRUE(method->is_input_unaliased(1));
}

TEST(AliasModel, InputsAreConsumedByWhatIsWrittenWhereTheyAre) {
  TestProgram program = related_program();
  plan(program).values.push_back(planned(1, 12));
  code(program).push_back(kernel(kSplit, {kResult, kOperands, kOperands}));
  plan(program).values[kOperands].list = {kAdded};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  ASSERT_EQ(execute(*method), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 1 is not set")) << log.text();
}

TEST(AliasModel, AnInputWithAViewIsConsumedLikeAnyOther) {
  TestProgram program = related_program();  // kView is a view of kFirst, at byte 0
  plan(program).values.push_back(planned(1, 4));
  code(program).push_back(kernel(kSplit, {kResult, kOperands, kOperands}));
  plan(program).values[kOperands].list = {kAdded};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  ASSERT_EQ(execute(*method), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 0 is not set")) << log.text();
}

/// Finds the inputs that an execution consumes: the next execution reports them as not set.
std::vector<size_t> consumed_inputs(Method& method) {
  FloatTensor values({1, 2, 3, 4});
  const auto set = [&](size_t input) {
    const auto sizes = method.method_meta().input_tensor_meta(input)->sizes();
    FloatTensor given(Floats(static_cast<size_t>(sizes[0]), 1));
    return method.set_input(given.value(), input);
  };
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    EXPECT_EQ(set(i), Error::Ok);
  }
  EXPECT_EQ(method.execute(), Error::Ok);
  std::vector<size_t> consumed;
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const LogCapture log;
    EXPECT_TRUE(method.execute() == Error::Ok || !consumed.empty() || log.contains("is not set"));
    if (log.contains("input " + std::to_string(i) + " is not set")) {
      consumed.push_back(i);
      EXPECT_EQ(set(i), Error::Ok);
      // If it was the last input, the execution has consumed those set before.
      for (const size_t before : consumed) {
        EXPECT_EQ(set(before), Error::Ok);
      }
    }
  }
  return consumed;
}

TEST(AliasModel, FindsTheConsumedInputsAmongTensorsAnywhere) {
  std::mt19937 random(7);
  const auto below = [&random](uint32_t limit) { return random() % limit; };
  for (int round = 0; round < 60; ++round) {
    TestProgram program = related_program();
    plan(program).buffer_sizes = {0, 512, 512};
    plan(program).inputs.clear();
    code(program).clear();
    struct Span {
      uint32_t buffer;
      uint64_t begin;
      uint64_t end;
    };
    std::vector<Span> inputs;
    std::vector<Span> written;
    const int32_t tensors = 2 + static_cast<int32_t>(below(12));
    for (int32_t i = 0; i < tensors; ++i) {
      const auto elements = static_cast<int32_t>(1 + below(8));
      const uint64_t offset = 4 * below(48);
      plan(program).values.push_back(planned(elements, offset));
      tensor_of(program, kAdded + i).memory_id = 1 + below(2);
      const Span place{tensor_of(program, kAdded + i).memory_id, offset,
                       offset + 4 * static_cast<uint64_t>(elements)};
      if (below(2) == 0) {
        plan(program).inputs.push_back(kAdded + i);
        inputs.push_back(place);
      } else {
        code(program).push_back(kernel(kApart, {kConstant, kConstant, kAdded + i, kAdded + i}));
        written.push_back(place);
      }
    }
    std::vector<size_t> expected;
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (const Span& other : written) {
        if (other.buffer == inputs[i].buffer && other.begin < inputs[i].end &&
            inputs[i].begin < other.end) {
          expected.push_back(i);
          break;
        }
      }
    }
    LoadedMethod method(program, 64);
    ASSERT_EQ(method.error(), Error::Ok);
    EXPECT_EQ(consumed_inputs(*method), expected) << "round " << round;
  }
}

/// Two kernels of one operator: one for all dtypes, whose operands must not share memory with the
/// result, and one for float, whose operands may.
TEST(AliasModel, UsesTheKernelOfEachInstruction) {
  const auto general = [](runtime::KernelRuntimeContext&, runtime::Span<EValue*>) {};
  const auto special = [](runtime::KernelRuntimeContext& context, runtime::Span<EValue*>) {
    context.fail(Error::Internal);
  };
  runtime::Kernel kernels[] = {
      runtime::Kernel("related::add.out", general),
      runtime::Kernel("related::add.out", "v1/6;0|6;0|6;0|6;0", special),
  };
  for (runtime::Kernel& one : kernels) one.written_ = 1 << 2;
  kernels[0].written_ |= runtime::Kernel::kDisjoint;
  TestProgram program = related_program();
  plan(program).operators = {{"related::add", "out"}};
  TestTensor whole = planned(2, 72).tensor;
  whole.type = fb::ScalarType::INT;
  plan(program).values.push_back(tensor(whole));
  const TestInstruction of_integers = kernel(0, {kAdded, kAdded, kAdded, kAdded});
  const TestInstruction of_floats = kernel(0, {kFirst, kFirst, kFirst, kFirst});
  const auto error_of = [&](const std::vector<TestInstruction>& instructions) {
    code(program) = instructions;
    LoadedProgram loaded(program);
    MethodMemory memory(*loaded->method_meta("forward"), 64);
    return loaded
        ->load_method("forward", &memory.manager(), nullptr, nullptr, nullptr,
                      {kernels, std::size(kernels)})
        .error();
  };
  EXPECT_EQ(error_of({of_floats}), Error::Ok);
  EXPECT_EQ(error_of({of_integers}), Error::InvalidProgram);
  EXPECT_EQ(error_of({of_integers, of_floats}), Error::InvalidProgram);
  EXPECT_EQ(error_of({of_floats, of_integers}), Error::InvalidProgram);
}

/// A program with one call that has a result of four bytes at each place, counted in results.
TestProgram split_program(const std::vector<uint64_t>& places) {
  TestProgram program = related_program();
  plan(program).buffer_sizes = {0, 1 << 20};
  std::vector<int64_t> results;
  for (const uint64_t place : places) {
    results.push_back(static_cast<int64_t>(plan(program).values.size()));
    plan(program).values.push_back(planned(1, 128 + 4 * place));
  }
  plan(program).values[kResults].list = results;
  code(program).push_back(kernel(kSplit, {kFirst, kResults, kResults}));
  return program;
}

/// `count` places apart; with a step of 1 they follow each other.
std::vector<uint64_t> places_apart(uint64_t count, uint64_t step) {
  std::vector<uint64_t> places;
  for (uint64_t i = 0; i < count; ++i) places.push_back(i * step % count);
  return places;
}

TEST(AliasModel, RefusesACallWithMoreUnsortedResultsThanTheFileIsLarge) {
  const TestProgram program = split_program(places_apart(4000, 1103));
  const LogCapture log;
  EXPECT_EQ(refusal(program), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("too many arguments are written to")) << log.text();
}

TEST(AliasModel, AcceptsACallWithHundredsOfUnsortedResults) {
  EXPECT_EQ(refusal(split_program(places_apart(256, 101))), Error::Ok);
}

TEST(AliasModel, AcceptsACallWithThousandsOfResultsThatFollowEachOther) {
  EXPECT_EQ(refusal(split_program(places_apart(4000, 1))), Error::Ok);
}

TEST(AliasModel, RefusesResultsThatShareBytesWhereverTheyStandAmongSortedOnes) {
  constexpr uint64_t kCount = 6;
  for (uint64_t moved = 0; moved < kCount; ++moved) {
    for (uint64_t other = 0; other < kCount; ++other) {
      std::vector<uint64_t> places = places_apart(kCount, 1);
      places[moved] = other;
      const LogCapture log;
      EXPECT_EQ(refusal(split_program(places)), moved == other ? Error::Ok : Error::InvalidProgram);
      EXPECT_EQ(log.contains("shares bytes"), moved != other) << log.text();
    }
  }
}

}  // namespace
}  // namespace executorch::testing
