// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A hostile payload is refused by the expected rule, or its execution stays inside its memory: a
// build with -DEXECUTORCH_SANITIZE=address,undefined reports each access outside.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>

#include "fuzz/program/execute_program.h"
#include "fuzz/program/mutate_program.h"
#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace executorch::backends::xnnpack {
namespace {

constexpr uint64_t kScripts = 6;

class HostilePayloadTest : public ::testing::TestWithParam<HostilePayload> {};

TEST_P(HostilePayloadTest, IsRefusedOrRunsInsideOfItsMemory) {
  TestProgram program = GetParam().make();
  // Tensors in heap blocks of their own.
  fuzz::separate_planned(program);
  const testing::ProgramFile file(program);
  const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const LogCapture log;
  fuzz::Outcome outcome;
  for (uint64_t script = 0; script < kScripts; ++script) {
    outcome = fuzz::execute_program({bytes.data(), bytes.size()}, script);
  }
  if (GetParam().refused.empty()) {
    EXPECT_EQ(outcome.methods_loaded, 1u) << log.text();
  } else {
    EXPECT_EQ(outcome.methods_loaded, 0u);
    EXPECT_TRUE(log.contains(GetParam().refused)) << log.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, HostilePayloadTest, ::testing::ValuesIn(hostile_shapes()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Constants, HostilePayloadTest, ::testing::ValuesIn(hostile_constants()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Numbers, HostilePayloadTest, ::testing::ValuesIn(hostile_numbers()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Booleans, HostilePayloadTest, ::testing::ValuesIn(hostile_booleans()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Fusions, HostilePayloadTest, ::testing::ValuesIn(hostile_fusions()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Decoders, HostilePayloadTest, ::testing::ValuesIn(hostile_decoders()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Repeats, HostilePayloadTest, ::testing::ValuesIn(hostile_repeats()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Arguments, HostilePayloadTest, ::testing::ValuesIn(hostile_arguments()),
                         executorch::testing::NameOfRow());

}  // namespace
}  // namespace executorch::backends::xnnpack
