// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A hostile program is refused by the expected rule, or its execution stays inside its memory: a
// build with -DEXECUTORCH_SANITIZE=address,undefined reports each access outside. Programs run
// unchanged and with each tensor in a planned buffer of its own, on inputs of many kinds, with and
// without a tracer.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fuzz/hostile/hostile_programs.h"
#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;

constexpr uint64_t kScripts = 12;

/// Runs the program with several scripts and returns all log messages.
std::string run(const TestProgram& program, fuzz::Outcome* last) {
  const ProgramFile file(program);
  // A heap block of exactly the file's size, so that a sanitizer sees reads past its end.
  const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const LogCapture log;
  for (uint64_t script = 0; script < kScripts; ++script) {
    *last = fuzz::execute_program({bytes.data(), bytes.size()}, script);
  }
  return log.text();
}

class HostileProgramTest : public ::testing::TestWithParam<HostileProgram> {};

TEST_P(HostileProgramTest, IsRefusedOrRunsInsideOfItsMemory) {
  const HostileProgram& row = GetParam();
  const TestProgram program = row.make();
  fuzz::Outcome outcome;
  const std::string messages = run(program, &outcome);
  if (row.refused.empty()) {
    EXPECT_EQ(outcome.load, Error::Ok) << messages;
    EXPECT_EQ(outcome.methods_loaded, program.plans.size()) << messages;
  } else {
    EXPECT_EQ(outcome.methods_loaded, 0u);
    EXPECT_NE(messages.find(row.refused), std::string::npos) << messages;
  }
  TestProgram separate = program;
  fuzz::separate_planned(separate);
  run(separate, &outcome);
}

std::string name_of(const ::testing::TestParamInfo<HostileProgram>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Relations, HostileProgramTest, ::testing::ValuesIn(hostile_relations()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Files, HostileProgramTest, ::testing::ValuesIn(hostile_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Growth, HostileProgramTest, ::testing::ValuesIn(hostile_growth()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Calls, HostileProgramTest, ::testing::ValuesIn(hostile_calls()), name_of);
INSTANTIATE_TEST_SUITE_P(LibraryCalls, HostileProgramTest,
                         ::testing::ValuesIn(hostile_library_calls()), name_of);
INSTANTIATE_TEST_SUITE_P(Windows, HostileProgramTest, ::testing::ValuesIn(hostile_windows()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Delegates, HostileProgramTest, ::testing::ValuesIn(hostile_delegates()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Flow, HostileProgramTest, ::testing::ValuesIn(hostile_flow()), name_of);
INSTANTIATE_TEST_SUITE_P(EmptyCalls, HostileProgramTest, ::testing::ValuesIn(hostile_empty_calls()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(EmptyLibraryCalls, HostileProgramTest,
                         ::testing::ValuesIn(hostile_empty_library_calls()), name_of);
INSTANTIATE_TEST_SUITE_P(Expansions, HostileProgramTest, ::testing::ValuesIn(hostile_expansions()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Reals, HostileProgramTest, ::testing::ValuesIn(hostile_reals()), name_of);
INSTANTIATE_TEST_SUITE_P(Numbers, HostileProgramTest, ::testing::ValuesIn(hostile_numbers()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Sharing, HostileProgramTest, ::testing::ValuesIn(hostile_sharing()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Combinations, HostileProgramTest,
                         ::testing::ValuesIn(hostile_combinations()), name_of);
INSTANTIATE_TEST_SUITE_P(Placements, HostileProgramTest, ::testing::ValuesIn(hostile_placements()),
                         name_of);

}  // namespace
}  // namespace executorch::testing
