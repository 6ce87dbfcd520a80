// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Queries by index or name resume the search of the previous one; every order gives equal answers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"
#include "relations.h"
#include "test_kernels.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::MethodMeta;
using runtime::Result;
using runtime::Span;

/// Delegates 0, 3, 6, ... have no working memory; the others share two pieces of it.
class ScratchBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<runtime::DelegateHandle*> init(runtime::BackendInitContext&, runtime::FreeableBuffer*,
                                        runtime::ArrayRef<runtime::CompileSpec>) const override {
    return static_cast<runtime::DelegateHandle*>(&pieces_[handles_++ % 3]);
  }
  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle*,
                Span<EValue*>) const override {
    return Error::Ok;
  }
  runtime::Scratch scratch(runtime::DelegateHandle* handle) const override {
    const auto piece = static_cast<const char*>(handle) - pieces_;
    if (piece == 0) return {};
    return {handle, static_cast<size_t>(piece) * 100};
  }
  /// A delegate has as many operators as its piece's index; a fourth delegate fails.
  Error describe(runtime::DelegateHandle* handle,
                 runtime::DelegateOperatorVisitor visit) const override {
    if (handles_ != 3) return Error::MemoryAllocationFailed;
    const auto piece = static_cast<const char*>(handle) - pieces_;
    for (int i = 0; i < piece; ++i) visit({"Add", "float32", std::to_string(i).c_str()});
    return Error::Ok;
  }

  void forget() { handles_ = 0; }

 private:
  mutable size_t handles_ = 0;
  mutable char pieces_[3] = {};
};

ScratchBackend backend;
[[maybe_unused]] const Error registered = runtime::register_backend({"ScratchBackend", &backend});

constexpr int32_t kOutputs = 40;

/// A program with two inputs, whose outputs are all their sum, at different offsets.
TestProgram many_outputs() {
  TestProgram program = add_program();
  TestPlan& plan = program.plans[0];
  plan.values.resize(3);
  plan.outputs.clear();
  plan.chains[0].clear();
  plan.buffer_sizes = {0, 4096};
  for (int32_t i = 0; i < kOutputs; ++i) {
    // Offsets decrease from output to output.
    plan.values.push_back(planned(2, static_cast<uint64_t>(1024 - 8 * i)));
    plan.outputs.push_back(i + 3);
    plan.chains[0].push_back(kernel(0, {0, 1, i + 3, i + 3}));
  }
  return program;
}

/// The unaliased outputs, then the unaliased inputs.
std::string unaliased(runtime::Method& method) {
  std::string answers;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    answers += method.is_output_unaliased(i) ? '1' : '0';
  }
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    answers += method.is_input_unaliased(i) ? '1' : '0';
  }
  return answers;
}

std::string with(std::string answers, std::vector<size_t> changed) {
  for (const size_t i : changed) answers[i] = '0';
  return answers;
}

const std::string kAll = std::string(kOutputs, '1') + "00";

TEST(QueriesInTurn, ManyOutputsAreUnaliased) {
  LoadedMethod method(many_outputs());
  ASSERT_EQ(method.error(), Error::Ok);
  const LogCapture log;
  // There is temporary memory for 256 bytes only.
  EXPECT_EQ(unaliased(*method), std::string(kOutputs + 2, '0'));
  LoadedProgram program(many_outputs());
  MethodMemory memory(*program->method_meta("forward"), 0, 4096);
  auto with_memory = program->load_method("forward", &memory.manager());
  ASSERT_TRUE(with_memory.ok());
  EXPECT_EQ(unaliased(*with_memory), kAll);
  EXPECT_EQ(unaliased(*with_memory), kAll);
  EXPECT_FALSE(with_memory->is_output_unaliased(kOutputs));
  EXPECT_FALSE(with_memory->is_input_unaliased(2));
}

std::string unaliased_after(const std::function<void(TestPlan&)>& change) {
  TestProgram source = many_outputs();
  change(source.plans[0]);
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 0, 4096);
  auto method = program->load_method("forward", &memory.manager());
  EXPECT_TRUE(method.ok());
  return method.ok() ? unaliased(*method) : "";
}

TEST(QueriesInTurn, OutputsAreAliasedByAllThatOverlapsThem) {
  // Output i begins at byte 1024 - 8 i.
  EXPECT_EQ(unaliased_after([](TestPlan& p) { p.values.push_back(planned(2, 1004)); }),
            with(kAll, {2, 3}));
  // A second tensor over the same ones, and one that reaches further.
  EXPECT_EQ(unaliased_after([](TestPlan& p) {
              p.values.push_back(planned(2, 1004));
              p.values.push_back(planned(8, 992));
            }),
            with(kAll, {1, 2, 3, 4}));
  // Ends where output 39 begins, and begins where output 0 ends.
  EXPECT_EQ(unaliased_after([](TestPlan& p) {
              p.values.push_back(planned(2, 1024 - 8 * 39 - 8));
              p.values.push_back(planned(2, 1032));
            }),
            kAll);
  // The first and the last.
  EXPECT_EQ(unaliased_after([](TestPlan& p) {
              p.values.push_back(planned(1, 1024 - 8 * 39));
              p.values.push_back(planned(1, 1028));
            }),
            with(kAll, {0, 39}));
}

TEST(QueriesInTurn, OutputsThatOverlapEachOtherAreAliased) {
  EXPECT_EQ(unaliased_after([](TestPlan& p) { p.outputs[7] = p.outputs[9]; }), with(kAll, {7, 9}));
  // Two at one place: each is written by its own instruction.
  EXPECT_EQ(unaliased_after([](TestPlan& p) { p.values[13].tensor.offset = 1024; }),
            with(kAll, {0, 10}));
}

TEST(QueriesInTurn, MethodsThatMoveTensorsHaveNoUnaliasedOutputs) {
  EXPECT_EQ(unaliased_after([](TestPlan& p) {
              p.values.push_back(planned(2, 2048));
              p.chains[0].push_back(move(3, 43));
            }),
            std::string(kOutputs + 2, '0'));
}

TEST(QueriesInTurn, AttributesAreFoundInEveryOrder) {
  TestProgram source = add_program();
  for (int i = 0; i < 9; ++i) {
    source.plans[0].values.push_back(i % 2 == 0 ? planned(2, 0) : integer(i));
    if (i % 2 == 0) source.plans[0].values.back().tensor.name = "a" + std::to_string(i / 2);
  }
  LoadedProgram program(source);
  const Result<MethodMeta> meta = program->method_meta("forward");
  ASSERT_EQ(meta->num_attributes(), 5u);
  ASSERT_EQ(meta->num_attributes(), 5u);
  const LogCapture log;
  for (const size_t index : {0, 1, 2, 3, 4, 4, 3, 0, 4, 1, 5, 2, 9, 0}) {
    const Result<runtime::TensorInfo> info = meta->attribute_tensor_meta(index);
    ASSERT_EQ(info.ok(), index < 5) << index;
    EXPECT_EQ(info.ok() ? std::string(info->name()) : "a" + std::to_string(index),
              "a" + std::to_string(index));
  }
  const MethodMeta copy = *meta;
  EXPECT_EQ(copy.attribute_tensor_meta(1)->name(), "a1");
  LoadedMethod method(source);
  ASSERT_EQ(method.error(), Error::Ok);
  for (const char* name : {"a0", "a1", "a1", "a4", "a3", "a0", "a4"}) {
    EXPECT_TRUE(method->get_attribute(name).ok()) << name;
  }
  EXPECT_EQ(method->get_attribute("a5").error(), Error::NotFound);
  EXPECT_TRUE(method->get_attribute("a2").ok());
}

TEST(QueriesInTurn, MethodsAreFoundInEveryOrder) {
  TestProgram source = add_program();
  for (const char* name : {"b", "c", "d"}) {
    source.plans.push_back(source.plans[0]);
    source.plans.back().name = name;
  }
  LoadedProgram program(source);
  const LogCapture log;
  for (const char* name : {"forward", "b", "c", "d", "c", "forward", "d", "d", "b"}) {
    ASSERT_TRUE(program->method_meta(name).ok()) << name;
    EXPECT_STREQ(program->method_meta(name)->name(), name);
  }
  EXPECT_EQ(program->method_meta("e").error(), Error::InvalidArgument);
}

TEST(QueriesInTurn, PlansOfMethodsAreFoundInEveryOrder) {
  TestProgram source = add_program();
  for (const char* name : {"b", "c"}) {
    source.plans.push_back(source.plans[0]);
    source.plans.back().name = name;
  }
  // Method "c" has no plan, and method "b" uses the first of its two plans.
  source.segment_data = std::string(960, '\0');
  source.segments = {{0, 4}, {0, 240}, {0, 480}, {0, 960}};
  source.named_data = {{"weight", 0},
                       {"executorch.plan.b", 1},
                       {"executorch.plan.", 0},
                       {"executorch.plan.forward", 2},
                       {"executorch.plan.b", 3},
                       {"executorch.plan", 0}};
  const auto size_in = [](LoadedProgram& program, const char* name) {
    return program->method_meta(name)->method_allocator_size();
  };
  std::map<std::string, size_t> expected;
  for (const char* name : {"forward", "b", "c"}) {
    LoadedProgram fresh(source);
    expected[name] = size_in(fresh, name);
  }
  EXPECT_LT(expected["c"], expected["b"]);
  EXPECT_LT(expected["b"], expected["forward"]);
  LoadedProgram program(source);
  for (const char* name : {"c", "forward", "b", "b", "c", "b", "forward", "c", "forward"}) {
    EXPECT_EQ(size_in(program, name), expected[name]) << name;
  }
  source.named_data.resize(1);
  LoadedProgram without(source);
  for (const char* name : {"forward", "b", "forward"}) {
    EXPECT_EQ(size_in(without, name), expected["c"]) << name;
  }
}

/// Methods, and parametric plans of methods that the program lacks.
TestProgram with_foreign_plans(int methods, int plans) {
  TestProgram source = add_program();
  for (int i = 0; i < methods; ++i) {
    source.plans.emplace_back();
    source.plans.back().name = "m" + std::to_string(i);
  }
  source.segments = {{0, 0}};
  for (int i = 0; i < plans; ++i) {
    source.named_data.emplace_back("executorch.plan.p" + std::to_string(i), 0);
  }
  return source;
}

TEST(QueriesInTurn, PlansOfMissingMethodsAreLimitedByTheSizeOfTheFile) {
  EXPECT_EQ(load_error(with_foreign_plans(200, 200)), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(load_error(with_foreign_plans(3000, 3000)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("methods have too many parametric plans for a file of")) << log.text();
}

TEST(QueriesInTurn, OutputsThatAreMovedKeepTheirOwnTensors) {
  TestProgram source = related_program();
  TestPlan& plan = source.plans[0];
  // Three targets of moves, with other values between them.
  for (int i = 0; i < 3; ++i) {
    plan.values.push_back(tensor({}));
    plan.values.push_back(integer(i));
  }
  plan.outputs = {kAdded, kAdded + 2, kAdded + 4};
  for (const int32_t output : plan.outputs) plan.chains[0].push_back(move(kOther, output));
  LoadedMethod method(source);
  ASSERT_EQ(method.error(), Error::Ok);
  float memory[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  for (const size_t output : {2, 0, 1, 0, 2}) {
    ASSERT_EQ(method->set_output_data_ptr(memory[output], 8, output), Error::Ok);
  }
  for (size_t output = 0; output < 3; ++output) {
    EXPECT_EQ(floats(method->get_output(output)),
              std::vector<float>(memory[output], memory[output] + 2));
  }
}

TEST(QueriesInTurn, OperatorsAreThoseThatBackendsDescribe) {
  TestProgram source = add_program();
  source.inline_data = {"payload"};
  for (int i = 0; i < 3; ++i) source.plans[0].delegates.push_back({"ScratchBackend"});
  backend.forget();
  std::vector<std::string> visits;
  const auto visit = [&](size_t delegate, const runtime::DelegateOperator& visited) {
    visits.push_back(std::to_string(delegate) + visited.name + visited.precision + visited.values);
  };
  {
    LoadedMethod method(source);
    ASSERT_EQ(method.error(), Error::Ok);
    EXPECT_EQ(method->describe_delegates(visit), Error::Ok);
  }
  EXPECT_EQ(visits, (std::vector<std::string>{"1Addfloat320", "2Addfloat320", "2Addfloat321"}));
  LoadedMethod more(source);
  ASSERT_EQ(more.error(), Error::Ok);
  EXPECT_EQ(more->describe_delegates(visit), Error::MemoryAllocationFailed);
}

TEST(QueriesInTurn, SharedWorkingMemoryCountsOnce) {
  TestProgram source = add_program();
  source.inline_data = {"payload"};
  for (int i = 0; i < 3; ++i) source.plans[0].delegates.push_back({"ScratchBackend"});
  {
    LoadedMethod method(source);
    ASSERT_EQ(method.error(), Error::Ok);
    EXPECT_EQ(method->delegate_scratch_size(), 300u);
  }
  for (int i = 0; i < 27; ++i) source.plans[0].delegates.push_back({"ScratchBackend"});
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 0, 4096);
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->delegate_scratch_size(), 300u);
  MethodMemory small(*program->method_meta("forward"), 0, 8);
  auto without = program->load_method("forward", &small.manager());
  ASSERT_TRUE(without.ok());
  const LogCapture log;
  EXPECT_EQ(without->delegate_scratch_size(), 3000u);
}

}  // namespace
}  // namespace executorch::testing
