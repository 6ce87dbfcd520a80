// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "relations.h"

namespace executorch::testing {

using Kind = fb::KernelTypes;
using Dynamism = fb::TensorShapeDynamism;

namespace {

TestValue of_dynamism(TestValue value, Dynamism dynamism) {
  value.tensor.dynamism = dynamism;
  return value;
}

}  // namespace

TestProgram related_program() {
  TestTensor constant;
  constant.data_buffer_idx = 1;
  TestTensor state;
  state.data_buffer_idx = 1;
  state.memory_id = 1;
  state.offset = 56;
  TestPlan plan;
  plan.values = {
      planned(2, 0),
      planned(2, 8),
      planned(2, 16),
      planned(2, 64),
      tensor(constant),
      tensor({}),
      list(Kind::IntList, {kTwo}),
      integer(2),
      boolean(false),
      planned(2, 32),
      of_dynamism(planned(2, 40), Dynamism::DYNAMIC_BOUND),
      of_dynamism(planned(2, 48), Dynamism::DYNAMIC_BOUND),
      list(Kind::TensorList, {kFirst, kSecond}),
      list(Kind::TensorList, {kResult, kOther}),
      list(Kind::OptionalTensorList, {kFirst, -1}),
      string("text"),
      tensor(state),
      tensor({}),
  };
  plan.inputs = {kFirst, kSecond};
  plan.outputs = {kOther};
  plan.operators = {{"related::add", "out"},    {"related::apart", "out"},
                    {"related::first", "out"},  {"related::pair", "out"},
                    {"related::split", "out"},  {"related::join", "out"},
                    {"related::pick", "out"},   {"related::assign_", ""},
                    {"related::silent", "out"}, {"executorch_prim::et_view", "default"}};
  plan.chains = {{view_of(kFirst, kView), kernel(kApart, {kView, kSecond, kResult, kResult}),
                  move(kResult, kTarget), kernel(kAdd, {kTarget, kSecond, kOther, kOther})}};
  plan.delegates = {{"OutputsBackend", fb::DataLocation::INLINE, 0, {}},
                    {"OutputsBackend", fb::DataLocation::INLINE, 1, {}},
                    {"OutputsBackend", fb::DataLocation::INLINE, 2, {}}};
  plan.buffer_sizes = {0, 128, 64};
  TestProgram program;
  program.plans = {plan};
  program.inline_data = {"1", "2", "?"};
  program.segment_data = std::string(64, 'x');
  program.segments = {{0, 32}, {32, 32}};
  program.constants = {0, {0, 16}};
  program.mutable_data = {{1, {0, 8}}};
  return program;
}

TestTensor without_memory(fb::ScalarType type, std::vector<int32_t> sizes,
                          std::vector<uint8_t> dim_order) {
  TestTensor tensor;
  tensor.type = type;
  tensor.sizes = std::move(sizes);
  tensor.dim_order = std::move(dim_order);
  return tensor;
}

std::vector<Access> writers() {
  const auto add = [](TestInstruction instruction, size_t place) {
    return [instruction, place](TestProgram& p, int32_t value) {
      code(p).push_back(instruction);
      code(p).back().arguments[place] = value;
    };
  };
  return {
      {"OutOfAKernel", add(kernel(kAdd, {kFirst, kSecond, 0}), 2)},
      {"OutOfADisjointKernel", add(kernel(kApart, {kFirst, kSecond, 0}), 2)},
      {"FirstOutOfTwo", add(kernel(kPair, {kFirst, 0, kOther}), 1)},
      {"SecondOutOfTwo", add(kernel(kPair, {kFirst, kOther, 0}), 2)},
      {"ItemOfAResultList",
       [](TestProgram& p, int32_t value) {
         plan(p).values[kResults].list = {kOther, value};
         code(p).push_back(kernel(kSplit, {kFirst, kResults, kResults}));
       }},
      {"SelfInPlace", add(kernel(kAssign, {0, kFirst}), 0)},
      {"LastOfAKernelThatSaysNothing", add(kernel(kSilent, {kFirst, 0}), 1)},
      {"OutputOfADelegate", add(delegate(kOneOutput, {kFirst, 0}), 1)},
      {"FirstOutputOfADelegate", add(delegate(kTwoOutputs, {kFirst, 0, kOther}), 1)},
      {"LastOfABackendThatSaysNothing", add(delegate(kUnknownOutputs, {kFirst, 0}), 1)},
  };
}

std::vector<Access> readers() {
  const auto add = [](TestInstruction instruction, size_t place) {
    return [instruction, place](TestProgram& p, int32_t value) {
      code(p).push_back(instruction);
      code(p).back().arguments[place] = value;
    };
  };
  return {
      {"FirstOperand", add(kernel(kApart, {0, kSecond, kResult, kResult}), 0)},
      {"SecondOperand", add(kernel(kApart, {kFirst, 0, kResult, kResult}), 1)},
      {"SecondOperandBesideTheFirst", add(kernel(kFirstInPlace, {kFirst, 0, kResult, kResult}), 1)},
      {"OperandOfTwoResults", add(kernel(kPair, {0, kOther, kResult}), 0)},
      {"OperandOfAResultList",
       [](TestProgram& p, int32_t value) {
         code(p).push_back(kernel(kSplit, {value, kResults, kResults}));
       }},
      {"ItemOfAList",
       [](TestProgram& p, int32_t value) {
         plan(p).values[kOperands].list = {kFirst, value};
         code(p).push_back(kernel(kJoin, {kOperands, kResult, kResult}));
       }},
      {"ItemOfAnOptionalList",
       [](TestProgram& p, int32_t value) {
         plan(p).values[kOptional].list = {-1, value};
         code(p).push_back(kernel(kPick, {kOptional, kResult, kResult}));
       }},
      {"SourceOfAnAssignment", add(kernel(kAssign, {kResult, 0, kResult}), 1)},
      {"InputOfADelegate", add(delegate(kOneOutput, {0, kResult}), 0)},
      {"InputBesideTwoOutputs", add(delegate(kTwoOutputs, {0, kOther, kResult}), 0)},
      {"InputOfABackendThatSaysNothing", add(delegate(kUnknownOutputs, {0, kSecond, kResult}), 0)},
  };
}

std::vector<Access> readers_in_place() {
  const auto add = [](TestInstruction instruction, size_t place) {
    return [instruction, place](TestProgram& p, int32_t value) {
      code(p).push_back(instruction);
      code(p).back().arguments[place] = value;
    };
  };
  return {
      {"AnyOperand", add(kernel(kAdd, {kFirst, 0, kResult, kResult}), 1)},
      {"TheFirstOperand", add(kernel(kFirstInPlace, {0, kSecond, kResult, kResult}), 0)},
      {"OperandOfAKernelThatSaysNothing", add(kernel(kSilent, {0, kResult}), 0)},
  };
}

}  // namespace executorch::testing
