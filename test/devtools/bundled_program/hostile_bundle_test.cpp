// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Well-formed bundles whose test cases contradict their program: opening refuses each of them, or
// running a case returns an error.
#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/devtools/bundled_program/schema/bundled_program_schema_generated.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "devtools/bundled_program/bundle_builder.h"
#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace {

using namespace executorch::bundled_program;
using executorch::extension::BufferDataLoader;
using executorch::extension::MethodMemory;
using executorch::runtime::Error;
using executorch::runtime::Program;
namespace fb = bundled_program_flatbuffer;
using Builder = flatbuffers::FlatBufferBuilder;
using Value = flatbuffers::Offset<fb::Value>;

/// A value of a test case; a tensor of `data_bytes` bytes unless it is a number.
struct HostileValue {
  fb::ValueUnion kind = fb::ValueUnion::Tensor;
  int64_t number = 0;
  int8_t scalar_type = 6;
  std::vector<int32_t> sizes = {2, 3};
  std::vector<uint8_t> dim_order = {0, 1};
  size_t data_bytes = 24;
};

struct Suite {
  std::string method = "forward";
  std::vector<std::vector<HostileValue>> inputs = {{{}, {}}};
  std::vector<std::vector<HostileValue>> expected = {{{}}};
};

struct Row {
  std::string name;
  std::function<void(std::vector<Suite>&)> change;
  /// Part of the message that refuses the bundle; empty: it opens.
  std::string refused;
  Error inputs = Error::Ok, outputs = Error::Ok;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

Value add(Builder& b, const HostileValue& value) {
  switch (value.kind) {
    case fb::ValueUnion::Int:
      return fb::CreateValue(b, value.kind, fb::CreateInt(b, value.number).Union());
    case fb::ValueUnion::Bool:
      return fb::CreateValue(b, value.kind, fb::CreateBool(b, value.number != 0).Union());
    case fb::ValueUnion::Double:
      return fb::CreateValue(b, value.kind, fb::CreateDouble(b, 0.5).Union());
    default:
      break;
  }
  b.ForceVectorAlignment(value.data_bytes, 1, 16);
  const auto data = b.CreateVector(std::vector<uint8_t>(value.data_bytes, 0));
  const auto sizes = b.CreateVector(value.sizes);
  const auto tensor = fb::CreateTensor(b, static_cast<fb::ScalarType>(value.scalar_type), sizes,
                                       data, b.CreateVector(value.dim_order));
  return fb::CreateValue(b, fb::ValueUnion::Tensor, tensor.Union());
}

std::vector<uint8_t> bytes_of(const std::vector<Suite>& suites) {
  Builder b;
  const auto values = [&](const std::vector<HostileValue>& list) {
    std::vector<Value> offsets;
    for (const HostileValue& value : list) offsets.push_back(add(b, value));
    return b.CreateVector(offsets);
  };
  std::vector<flatbuffers::Offset<fb::BundledMethodTestSuite>> suite_offsets;
  for (const Suite& suite : suites) {
    std::vector<flatbuffers::Offset<fb::BundledMethodTestCase>> cases;
    for (size_t i = 0; i < suite.inputs.size(); ++i) {
      const auto inputs = values(suite.inputs[i]);
      cases.push_back(fb::CreateBundledMethodTestCase(b, inputs, values(suite.expected[i])));
    }
    const auto case_vector = b.CreateVector(cases);
    suite_offsets.push_back(
        fb::CreateBundledMethodTestSuite(b, b.CreateString(suite.method), case_vector));
  }
  const std::vector<uint8_t> program = executorch::testing::add_program();
  b.ForceVectorAlignment(program.size(), 1, 32);
  const auto program_vector = b.CreateVector(program);
  fb::FinishBundledProgramBuffer(
      b, fb::CreateBundledProgram(b, 2, b.CreateVector(suite_offsets), program_vector));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

std::function<void(std::vector<Suite>&)> input(std::function<void(HostileValue&)> change) {
  return [change](std::vector<Suite>& suites) { change(suites[0].inputs[0][1]); };
}
std::function<void(std::vector<Suite>&)> output(std::function<void(HostileValue&)> change) {
  return [change](std::vector<Suite>& suites) { change(suites[0].expected[0][0]); };
}

void number(HostileValue& value) { value.kind = fb::ValueUnion::Int; }
void elements(HostileValue& value, std::vector<int32_t> sizes) {
  value.data_bytes = 4;
  value.dim_order.clear();
  for (const int32_t size : sizes) {
    value.data_bytes *= static_cast<size_t>(size);
    value.dim_order.push_back(static_cast<uint8_t>(value.dim_order.size()));
  }
  value.sizes = std::move(sizes);
}

const std::vector<Row>& rows() {
  constexpr Error kBad = Error::InvalidArgument;
  constexpr const char* kNoTensor = "do not describe a tensor";
  static const std::vector<Row> all = {
      {"ABundleIsValid", [](auto&) {}, ""},
      {"AMethodsSuiteOccursTwice", [](auto& s) { s.push_back({"forward", {{}}, {{}}}); }, ""},
      {"ASuiteIsOfNoMethod", [](auto& s) { s[0].method = "backward"; }, "", Error::NotFound,
       Error::NotFound},
      {"ASuiteHasNoCases", [](auto& s) { s[0].inputs = s[0].expected = {}; }, "", kBad, kBad},
      {"ACaseHasFewInputs", [](auto& s) { s[0].inputs[0].pop_back(); }, "", kBad},
      {"ACaseHasManyInputs", [](auto& s) { s[0].inputs[0].resize(1000); }, "", kBad},
      {"ACaseHasNoInputs", [](auto& s) { s[0].inputs[0].clear(); }, "", kBad},
      {"ACaseHasManyOutputs", [](auto& s) { s[0].expected[0].resize(1000); }, "", Error::Ok, kBad},
      {"AnInputIsANumber", input(number), "", kBad},
      {"AnInputIsABool", input([](HostileValue& v) { v.kind = fb::ValueUnion::Bool; }), "", kBad},
      {"AnOutputIsANumber", output(number), "", Error::Ok, Error::InvalidType},
      {"AnInputIsOfAnotherDtype", input([](HostileValue& v) { v.scalar_type = 3; }), "", kBad},
      {"AnOutputIsOfAnotherDtype", output([](HostileValue& v) { v.scalar_type = 3; }), "",
       Error::Ok, Error::InvalidType},
      {"AnInputIsLarger", input([](HostileValue& v) { elements(v, {4, 3}); }), "", kBad},
      {"AnInputIsSmaller", input([](HostileValue& v) { elements(v, {1, 3}); }), "", kBad},
      {"AnInputHasNoElements", input([](HostileValue& v) { elements(v, {0, 3}); }), "", kBad},
      {"AnInputHasAnotherRank", input([](HostileValue& v) { elements(v, {6}); }), "", kBad},
      {"AnOutputIsLarger", output([](HostileValue& v) { elements(v, {4, 3}); }), "", Error::Ok,
       kBad},
      {"AnOutputHasNoElements", output([](HostileValue& v) { elements(v, {0, 3}); }), "", Error::Ok,
       kBad},
      {"AnInputIsInAnotherDimOrder", input([](HostileValue& v) { v.dim_order = {1, 0}; }), "",
       kBad},
      {"AnOutputIsInAnotherDimOrder", output([](HostileValue& v) { v.dim_order = {1, 0}; }), ""},
      {"ATensorHasMoreBytes", input([](HostileValue& v) { v.data_bytes = 25; }), "expected 24"},
      {"ATensorHasFewerBytes", output([](HostileValue& v) { v.data_bytes = 23; }), "expected 24"},
      {"ATensorHasNoBytes", input([](HostileValue& v) { v.data_bytes = 0; }), "expected 24"},
      {"ATensorsSizesOverflow", input([](HostileValue& v) { v.sizes = {INT32_MAX, INT32_MAX}; }),
       "expected"},
      {"ATensorsSizeIsNegative", input([](HostileValue& v) { v.sizes = {-2, -3}; }), kNoTensor},
      {"ATensorsDimOrderRepeats", input([](HostileValue& v) { v.dim_order = {0, 0}; }), kNoTensor},
      {"ATensorsDtypeIsBeyondTheEnum", output([](HostileValue& v) { v.scalar_type = 99; }),
       kNoTensor},
      {"ATensorHasManyDims",
       input([](HostileValue& v) { elements(v, std::vector<int32_t>(255, 1)); }), kNoTensor},
  };
  return all;
}

class HostileBundleTest : public testing::TestWithParam<Row> {};

TEST_P(HostileBundleTest, IsRefusedOrItsErrorsAreValues) {
  executorch::runtime::runtime_init();
  std::vector<Suite> suites(1);
  GetParam().change(suites);
  executorch::testing::AlignedBundle file(bytes_of(suites));
  const LogCapture log;
  const auto bundle = Bundle::open({file.data(), file.size});
  if (!GetParam().refused.empty()) {
    EXPECT_EQ(bundle.error(), Error::InvalidProgram);
    EXPECT_TRUE(log.contains(GetParam().refused)) << log.text();
    return;
  }
  ASSERT_TRUE(bundle.ok()) << log.text();
  BufferDataLoader loader(bundle->program().data(), bundle->program().size());
  const auto program = Program::load(&loader);
  const auto memory = MethodMemory::allocate(*program->method_meta("forward"));
  auto method = program->load_method("forward", (*memory)->manager());
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(load_bundled_input(*method, file.data(), 0), GetParam().inputs) << log.text();
  EXPECT_EQ(load_bundled_input(*method, file.data(), SIZE_MAX),
            GetParam().inputs == Error::NotFound ? Error::NotFound : Error::InvalidArgument);
  EXPECT_EQ(verify_method_outputs(*method, file.data(), 0), GetParam().outputs) << log.text();
}

// Copies of the inputs would take a hundred times the file's bytes.
TEST(HostileBundle, WhoseInputsShareBytesIsRefused) {
  executorch::runtime::runtime_init();
  for (const size_t inputs : {size_t{1}, size_t{1000}}) {
    Builder b;
    HostileValue large;
    large.sizes = {10000};
    large.dim_order = {0};
    large.data_bytes = 40000;
    const auto values = b.CreateVector(std::vector<Value>(inputs, add(b, large)));
    const std::vector<flatbuffers::Offset<fb::BundledMethodTestCase>> cases = {
        fb::CreateBundledMethodTestCase(b, values, b.CreateVector(std::vector<Value>()))};
    const auto case_vector = b.CreateVector(cases);
    const std::vector<flatbuffers::Offset<fb::BundledMethodTestSuite>> suites = {
        fb::CreateBundledMethodTestSuite(b, b.CreateString("forward"), case_vector)};
    const auto suite_vector = b.CreateVector(suites);
    const std::vector<uint8_t> program = executorch::testing::add_program();
    b.ForceVectorAlignment(program.size(), 1, 32);
    const auto program_vector = b.CreateVector(program);
    fb::FinishBundledProgramBuffer(b, fb::CreateBundledProgram(b, 2, suite_vector, program_vector));
    executorch::testing::AlignedBundle file(
        {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()});
    const LogCapture log;
    const auto bundle = Bundle::open({file.data(), file.size});
    EXPECT_EQ(bundle.error(), inputs == 1 ? Error::Ok : Error::InvalidProgram) << log.text();
    EXPECT_EQ(log.contains("tensors have more bytes than the file"), inputs != 1) << log.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileBundleTest, testing::ValuesIn(rows()),
                         executorch::testing::NameOfRow());

}  // namespace
