// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The rules of docs/alias-model.md for classes of many values, which moves have joined.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/relations.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;

/// Adds `count` moves: each moves a new value to the next new one. The first one is kAdded.
void add_class(TestProgram& program, int32_t count) {
  const auto first = static_cast<int32_t>(plan(program).values.size());
  for (int32_t i = 0; i < count; ++i) {
    plan(program).values.push_back(planned(2, 0));
    code(program).push_back(move(first + i, first + 1 + i));
  }
  plan(program).values.push_back(planned(2, 0));
}

TestProgram moving_program(int32_t count) {
  TestProgram program = related_program();
  add_class(program, count);
  return program;
}

TEST(AliasModel, AcceptsACallThatWritesToAClassOfThousands) {
  TestProgram program = moving_program(4000);
  code(program).push_back(kernel(kApart, {kConstant, kConstant, kAdded, kAdded}));
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, ComparesEachValueOfAWrittenClassWithOperandsAndOtherResults) {
  for (const uint64_t place : {8, 12, 16, 20, 24, 48, 56, 60, 64, 68, 72}) {
    for (const bool is_first : {false, true}) {
      TestProgram program = moving_program(2);
      tensor_of(program, kAdded).offset = 112;
      tensor_of(program, kAdded + 1).offset = 120;
      tensor_of(program, kAdded + 2).offset = place;
      const int32_t results[] = {is_first ? kAdded : kOther, is_first ? kOther : kAdded};
      code(program).push_back(kernel(kPair, {kResult, results[0], results[1]}));
      const auto lies_apart = [place](uint64_t other) {
        return place + 8 <= other || place >= other + 8;
      };
      const bool is_apart = lies_apart(16) && lies_apart(64);
      EXPECT_EQ(refusal(program), is_apart ? Error::Ok : Error::InvalidProgram) << place;
    }
  }
}

TEST(AliasModel, FindsTheClassOfATensorHoweverMovesHaveJoinedIt) {
  // The moves of each row join five values: onto one, from one, in chains, and two classes.
  const std::vector<std::vector<std::pair<int, int>>> ways = {{{1, 0}, {2, 0}, {3, 0}, {4, 0}},
                                                              {{0, 1}, {0, 2}, {0, 3}, {0, 4}},
                                                              {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                                                              {{4, 3}, {3, 2}, {2, 1}, {1, 0}},
                                                              {{0, 1}, {2, 3}, {3, 1}, {4, 2}}};
  for (const auto& moves : ways) {
    for (int32_t written = 0; written < 5; ++written) {
      for (int32_t read = 0; read < 5; ++read) {
        TestProgram program = related_program();
        for (uint64_t i = 0; i < 5; ++i) {
          plan(program).values.push_back(planned(2, 72 + 8 * i));
        }
        for (const auto& [from, to] : moves) {
          code(program).push_back(move(kAdded + from, kAdded + to));
        }
        code(program).push_back(
            kernel(kApart, {kAdded + read, kFirst, kAdded + written, kAdded + written}));
        EXPECT_EQ(refusal(program), Error::InvalidProgram) << written << read;
        code(program).back() = kernel(kApart, {kAdded + read, kFirst, kOther, kOther});
        EXPECT_EQ(refusal(program), Error::Ok) << written << read;
      }
    }
  }
}

TEST(AliasModel, AcceptsAThousandReadsOfSeveralClassesInTurn) {
  TestProgram program = related_program();
  std::vector<int32_t> classes;
  for (int i = 0; i < 4; ++i) {
    classes.push_back(static_cast<int32_t>(plan(program).values.size()));
    add_class(program, 1000);
  }
  for (size_t i = 0; i < 1000; ++i) {
    const int32_t read[] = {classes[i % 4], classes[(i + 1) % 4]};
    code(program).push_back(kernel(kApart, {read[0], read[1], kOther, kOther}));
  }
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, RefusesMoreWorkThanTheFileIsLarge) {
  TestProgram program = moving_program(1000);  // a thousand instructions read the class
  tensor_of(program, kAdded).offset = 112;     // and write between its values
  for (int i = 0; i < 1000; ++i) {
    code(program).push_back(kernel(kAdd, {kAdded, kAdded, kOther, kOther}));
  }
  const LogCapture log;
  EXPECT_EQ(refusal(program), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("too many others for the size of the file")) << log.text();
}

TEST(AliasModel, AcceptsAThousandReadsOfAClassThatLiesApart) {
  TestProgram program = moving_program(1000);
  for (int i = 0; i < 1000; ++i) {
    code(program).push_back(kernel(kApart, {kAdded, kAdded, kOther, kOther}));
  }
  EXPECT_EQ(refusal(program), Error::Ok);
}

TEST(AliasModel, ComparesEachValueOfAClassWhoseRangeContainsTheResult) {
  for (const uint64_t place : {48, 60, 64, 68, 80}) {
    TestProgram program = moving_program(2);
    tensor_of(program, kAdded + 1).offset = 112;
    tensor_of(program, kAdded + 2).offset = place;
    code(program).push_back(kernel(kApart, {kAdded, kSecond, kOther, kOther}));
    const bool is_apart = place + 8 <= 64 || place >= 64 + 8;
    EXPECT_EQ(refusal(program), is_apart ? Error::Ok : Error::InvalidProgram) << place;
  }
}

}  // namespace
}  // namespace executorch::testing
