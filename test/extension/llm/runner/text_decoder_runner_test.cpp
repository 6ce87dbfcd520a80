// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_decoder_runner.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/testing_util/temp_file.h>

#include "runtime/executor/program_builder.h"

namespace executorch::testing {
namespace {

using extension::Module;
using extension::llm::IOManager;
using extension::llm::TextDecoderRunner;
using extension::testing::TempFile;
using runtime::Error;

/// A method from tokens and a position to logits. With `writes`, it negates the position in place.
TestPlan decoder(const std::string& name, bool writes) {
  TestTensor tokens, position;
  tokens.type = position.type = fb::ScalarType::LONG;
  tokens.sizes = {1, 2};
  tokens.dim_order = {0, 1};
  position.sizes = {1};
  TestTensor logits = tokens;
  logits.type = fb::ScalarType::FLOAT;
  logits.memory_id = 1;
  TestPlan plan;
  plan.name = name;
  plan.values = {tensor(tokens), tensor(position), tensor(logits)};
  plan.inputs = {0, 1};
  plan.outputs = {2};
  if (writes) {
    plan.operators = {{"aten::neg", "out"}};
    plan.chains = {{kernel(0, {1, 1, 1})}};
  }
  return plan;
}

TEST(TextDecoderRunnerTest, AMethodThatWritesToItsInputsIsRefused) {
  struct Case {
    bool prefill_writes, token_writes;
  };
  for (const Case& c : {Case{false, false}, Case{true, false}, Case{false, true}}) {
    TestProgram program;
    program.plans = {decoder("prefill", c.prefill_writes), decoder("token", c.token_writes)};
    const ProgramFile bytes(program);
    const TempFile file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    Module module(file.path());
    IOManager io_manager(module);
    TextDecoderRunner runner(&module, &io_manager, "token");
    runner.set_prefill_method("prefill");
    const bool is_refused = c.prefill_writes || c.token_writes;
    EXPECT_EQ(runner.load(), is_refused ? Error::InvalidProgram : Error::Ok);
    EXPECT_EQ(runner.is_method_loaded(), !is_refused);
  }
}

TEST(TextDecoderRunnerTest, AMethodDoesNotKeepInputsThatEndedWithTheStep) {
  TestProgram program;
  program.plans = {decoder("token", false)};
  const ProgramFile bytes(program);
  const TempFile file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Module module(file.path());
  IOManager io_manager(module);
  TextDecoderRunner runner(&module, &io_manager, "token");
  {
    auto tokens = extension::make_tensor_ptr({1, 2}, std::vector<int64_t>{1, 2});
    ASSERT_EQ(runner.step(tokens, 0).error(), Error::Ok);
  }
  EXPECT_EQ(module.execute("token").error(), Error::InvalidState);
  auto tokens = extension::make_tensor_ptr({1, 2}, std::vector<int64_t>{1, 2});
  EXPECT_EQ(runner.step(tokens, 0).error(), Error::Ok);
}

}  // namespace
}  // namespace executorch::testing
