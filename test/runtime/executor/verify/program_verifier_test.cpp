// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Each rule of the verifier: a program that breaks only this rule is refused, and the log names it.
#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using Kind = fb::KernelTypes;

/// A program that has one of everything.
TestProgram full_program() {
  TestProgram program = add_program();
  TestPlan& plan = program.plans[0];
  TestTensor constant;
  constant.data_buffer_idx = 1;
  TestTensor changing;
  changing.data_buffer_idx = 1;
  changing.memory_id = 1;
  changing.offset = 48;
  const std::vector<TestValue> more = {
      tensor(constant),                         // 3
      tensor(changing),                         // 4
      integer(7),                               // 5
      boolean(false),                           // 6
      real(1.5),                                // 7
      string("text"),                           // 8
      list(Kind::IntList, {5, 5}),              // 9
      list(Kind::BoolList, {0, 1}),             // 10
      list(Kind::TensorList, {0, 1}),           // 11
      list(Kind::OptionalTensorList, {0, -1}),  // 12
      none(),                                   // 13
  };
  plan.values.insert(plan.values.end(), more.begin(), more.end());
  plan.delegates = {{"Nothing", fb::DataLocation::INLINE, 0, {{"key", "value"}}}};
  plan.chains[0] = {kernel(0, {0, 1, 2, 2}), move(0, 1), jump_false(6, 4), delegate(0, {0, 1}),
                    free_value(2)};
  plan.devices = {{1, fb::DeviceType::CPU}};
  program.inline_data = {"payload"};
  program.segment_data = std::string(64, 'x');
  program.segments = {{0, 32}, {32, 32}};
  program.constants = {0, {0, 16}};
  program.mutable_data = {{1, {0, 8}}};
  program.named_data = {{"name", 1}};
  return program;
}

struct Rule {
  std::string name;
  std::function<void(TestProgram&)> breaks;
  /// Expected log message.
  std::string message;
  Error error = Error::InvalidProgram;
};
void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

std::vector<Rule> rules() {
  using P = TestProgram;
  return {
      {"Version", [](P& p) { p.version = 1; }, "version 1, expected 0"},
      // Segments and constants.
      {"SegmentEnd", [](P& p) { p.segments[1].second = 33; }, "segment 1"},
      {"SegmentOffsetOverflow", [](P& p) { p.segments[1].first = UINT64_MAX - 8; }, "segment 1"},
      {"ConstantsTwice", [](P& p) { p.constant_buffer = {"", "12345678"}; }, "both inline"},
      {"ConstantSegmentIndex", [](P& p) { p.constants.segment = 2; }, "segment 2 of 2"},
      {"ConstantOffset", [](P& p) { p.constants.offsets[1] = 33; }, "offset 33"},
      {"ConstantEnd", [](P& p) { p.constants.offsets[1] = 28; }, "tensor 3: 8 bytes at offset 28"},
      {"ConstantAlignment", [](P& p) { p.constants.offsets[1] = 2; },
       "tensor 3: 8 bytes at offset 2"},
      {"ConstantIndex", [](P& p) { tensor_of(p, 3).data_buffer_idx = 2; },
       "tensor 3: entry 2 of 2"},
      {"InlineConstantIndex",
       [](P& p) {
         p.constants = {};
         p.constant_buffer = {"", "8 bytes!"};
         tensor_of(p, 3).data_buffer_idx = 2;
       },
       "tensor 3: constant 2 of 2"},
      {"MutablePlace", [](P& p) { tensor_of(p, 4).offset = 60; }, "tensor 4: 8 bytes at offset 60"},
      {"NoName", [](P& p) { tensor_of(p, 3).location = fb::TensorDataLocation::EXTERNAL; },
       "tensor 3: external data without a name"},
      {"NoNameOfPlannedData",
       [](P& p) { tensor_of(p, 4).location = fb::TensorDataLocation::EXTERNAL; },
       "tensor 4: external data without a name"},
      {"MutableSegmentIndex", [](P& p) { p.mutable_data[0].segment = 9; }, "segment 9 of 2"},
      {"MutableOffset", [](P& p) { p.mutable_data[0].offsets[1] = 64; }, "offset 64"},
      {"MutableEnd", [](P& p) { p.mutable_data[0].offsets[1] = 28; }, "tensor 4"},
      {"MutableIndex", [](P& p) { tensor_of(p, 4).mutable_segment = 1; },
       "mutable data segment 1 of 1"},
      {"NamedDataSegment", [](P& p) { p.named_data[0].second = 2; },
       "named data 'name': segment 2"},
      // Planned memory.
      {"NegativeBuffer", [](P& p) { plan(p).buffer_sizes[1] = -1; }, "planned buffer 1: -1 bytes"},
      {"PlannedEnd", [](P& p) { tensor_of(p, 2).offset = 60; }, "tensor 2: 8 bytes at offset 60"},
      {"PlannedOffsetOverflow", [](P& p) { tensor_of(p, 2).offset = UINT64_MAX - 3; }, "tensor 2"},
      {"PlannedAlignment", [](P& p) { tensor_of(p, 2).offset = 33; },
       "tensor 2: 8 bytes at offset 33"},
      {"ReservedBuffer", [](P& p) { plan(p).buffer_sizes = {64}; }, "planned buffer 1 of 1"},
      {"BufferIndex", [](P& p) { tensor_of(p, 2).memory_id = 2; }, "planned buffer 2 of 2"},
      {"BufferDevice", [](P& p) { plan(p).devices = {{1, fb::DeviceType::CUDA}}; }, "device type 1",
       Error::NotSupported},
      {"BufferDeviceIndex", [](P& p) { plan(p).devices = {{2, fb::DeviceType::CPU}}; },
       "device of planned buffer 2"},
      // Tensors.
      {"ScalarType", [](P& p) { tensor_of(p, 0).type = static_cast<fb::ScalarType>(77); },
       "tensor 0: scalar type 77"},
      {"NegativeType", [](P& p) { tensor_of(p, 0).type = static_cast<fb::ScalarType>(-1); },
       "tensor 0: scalar type -1"},
      {"StorageOffset", [](P& p) { tensor_of(p, 0).storage_offset = 1; }, "storage offset 1"},
      {"Layout", [](P& p) { tensor_of(p, 0).layout = 1; }, "layout 1"},
      {"Dynamism", [](P& p) { tensor_of(p, 0).dynamism = static_cast<fb::TensorShapeDynamism>(3); },
       "dynamism 3"},
      {"Location", [](P& p) { tensor_of(p, 0).location = static_cast<fb::TensorDataLocation>(2); },
       "location 2"},
      {"Device", [](P& p) { tensor_of(p, 0).device = fb::DeviceType::CUDA; }, "device type 1",
       Error::NotSupported},
      {"ExternalWithoutName",
       [](P& p) { tensor_of(p, 3).location = fb::TensorDataLocation::EXTERNAL; }, "without a name"},
      {"NegativeSize", [](P& p) { tensor_of(p, 0).sizes = {-2}; }, "tensor 0 of rank 1"},
      {"TooManyDims",
       [](P& p) {
         tensor_of(p, 0).sizes = std::vector<int32_t>(17, 1);
         tensor_of(p, 0).dim_order = std::vector<uint8_t>(17, 0);
       },
       "17 sizes"},
      {"DimOrderLength", [](P& p) { tensor_of(p, 0).dim_order = {0, 1}; }, "1 sizes and 2"},
      {"DimOrderTwice",
       [](P& p) {
         tensor_of(p, 0).sizes = {1, 2};
         tensor_of(p, 0).dim_order = {0, 0};
       },
       "has 0 twice"},
      {"DimOrderRange", [](P& p) { tensor_of(p, 0).dim_order = {1}; }, "dim order of rank 1"},
      {"NumelOverflow",
       [](P& p) {
         tensor_of(p, 0).sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
         tensor_of(p, 0).dim_order = {0, 1, 2};
       },
       "tensor 0 of rank 3"},
      {"StrideOverflow",
       [](P& p) {
         tensor_of(p, 0).sizes = {0, 1 << 30, 4};
         tensor_of(p, 0).dim_order = {0, 1, 2};
       },
       "tensor 0 of rank 3"},
      // Lists.
      {"IntListRange", [](P& p) { plan(p).values[9].list[1] = 14; }, "value 9: list item 14"},
      {"IntListNegative", [](P& p) { plan(p).values[9].list[1] = -1; }, "value 9: list item -1"},
      {"IntListKind", [](P& p) { plan(p).values[9].list[1] = 6; }, "value 9: list item 6"},
      {"BoolListValue", [](P& p) { plan(p).values[10].list[1] = 2; }, "bool 2"},
      {"TensorListKind", [](P& p) { plan(p).values[11].list[1] = 5; }, "value 11: list item 5"},
      {"TensorListNone", [](P& p) { plan(p).values[11].list[1] = -1; }, "value 11: list item -1"},
      {"OptionalListKind", [](P& p) { plan(p).values[12].list[1] = 5; }, "value 12: list item 5"},
      {"OptionalListRange", [](P& p) { plan(p).values[12].list[1] = -2; },
       "value 12: list item -2"},
      // Interface.
      {"InputRange", [](P& p) { plan(p).inputs[0] = 14; }, "input: value 14 of 14"},
      {"InputNegative", [](P& p) { plan(p).inputs[0] = -1; }, "input: value -1"},
      {"InputConstant", [](P& p) { plan(p).inputs[0] = 3; }, "input: value 3 is a constant"},
      {"OutputRange", [](P& p) { plan(p).outputs[0] = 99; }, "output: value 99 of 14"},
      // Delegates.
      {"DelegateInline", [](P& p) { plan(p).delegates[0].index = 1; },
       "delegate 0 (Nothing): data 1"},
      {"DelegateSegment",
       [](P& p) {
         plan(p).delegates[0].location = fb::DataLocation::SEGMENT;
         plan(p).delegates[0].index = 2;
       },
       "data 2 of 2"},
      {"DelegateLocation",
       [](P& p) { plan(p).delegates[0].location = static_cast<fb::DataLocation>(2); },
       "location 2"},
      // Instructions.
      {"OperatorIndex", [](P& p) { code(p)[0].first = 1; }, "instruction 0: operator 1 of 1"},
      {"TooManyOperators",
       [](P& p) {
         plan(p).operators.resize(UINT16_MAX + 1, plan(p).operators[0]);
         code(p)[0].first = UINT16_MAX;
       },
       "instruction 0: operator 65535 of 65535"},
      {"OperatorNegative", [](P& p) { code(p)[0].first = -1; }, "instruction 0: operator -1"},
      {"KernelArgument", [](P& p) { code(p)[0].arguments[1] = 14; }, "argument: value 14 of 14"},
      {"MoveFrom", [](P& p) { code(p)[1].first = 14; }, "instruction 1: value 14"},
      {"MoveTo", [](P& p) { code(p)[1].second = -5; }, "instruction 1: value -5"},
      {"MoveIntToTensor", [](P& p) { code(p)[1].first = 5; }, "instruction 1: MoveCall on value 1"},
      {"MoveIntToTensorList", [](P& p) { code(p)[1] = move(5, 11); }, "MoveCall on value 11"},
      {"MoveListToInt", [](P& p) { code(p)[1] = move(9, 5); }, "MoveCall on value 5"},
      {"JumpSelf", [](P& p) { code(p)[2].second = 2; }, "instruction 2: jump to instruction 2"},
      {"JumpPastEnd", [](P& p) { code(p)[2].second = 6; }, "jump to instruction 6 of 5"},
      {"JumpNegative", [](P& p) { code(p)[2].second = -1; }, "jump to instruction -1"},
      {"JumpRange", [](P& p) { code(p)[2].first = 14; }, "condition: value 14"},
      {"JumpOnInt", [](P& p) { code(p)[2].first = 5; }, "JumpFalseCall on value 5"},
      {"JumpOnFloatTensor", [](P& p) { code(p)[2].first = 0; }, "scalar type 6, expected BOOL"},
      {"DelegateIndex", [](P& p) { code(p)[3].first = 1; }, "instruction 3: delegate 1 of 1"},
      {"DelegateArgument", [](P& p) { code(p)[3].arguments[0] = -1; }, "argument: value -1"},
      {"FreeRange", [](P& p) { code(p)[4].first = 14; }, "instruction 4: value 14"},
      {"FreeInt", [](P& p) { code(p)[4].first = 5; }, "FreeCall on value 5"},
  };
}

class ProgramVerifierTest : public ::testing::TestWithParam<Rule> {};

TEST_P(ProgramVerifierTest, RefusesAProgramThatBreaksTheRule) {
  TestProgram program = full_program();
  GetParam().breaks(program);
  const LogCapture log;
  EXPECT_EQ(load_error(program), GetParam().error);
  EXPECT_TRUE(log.contains(GetParam().message)) << log.text();
}

INSTANTIATE_TEST_SUITE_P(Rules, ProgramVerifierTest, ::testing::ValuesIn(rules()), NameOfRow());

TEST(ProgramVerifier, AcceptsAProgramThatHasOneOfEverything) {
  EXPECT_EQ(load_error(full_program()), Error::Ok);
}

TEST(ProgramVerifier, AcceptsTheFormOfOldFiles) {
  TestProgram program = add_program();
  TestTensor constant;
  constant.data_buffer_idx = 1;
  program.plans[0].values.push_back(tensor(constant));
  program.constant_buffer = {"", "12345678"};
  EXPECT_EQ(load_error(program), Error::Ok);
  program.constant_buffer[1] = "1234567";
  EXPECT_EQ(load_error(program), Error::InvalidProgram);
}

TEST(ProgramVerifier, AcceptsAHeaderWithoutTheSegmentsSize) {
  TestProgram program = full_program();
  program.header_length = 24;
  EXPECT_EQ(load_error(program), Error::Ok);
}

TEST(ProgramVerifier, AcceptsAHeaderWithoutSegments) {
  constexpr size_t kSegmentBaseAt = 24;
  for (const uint32_t length : {24u, 32u}) {
    TestProgram program = add_program();
    program.segment_data = "unused";
    program.header_length = length;
    ProgramFile file(program);
    memset(file.data() + kSegmentBaseAt, 0, sizeof(uint64_t));
    EXPECT_EQ(load_error(file), Error::Ok) << length;
    const uint64_t beyond = file.size() + 1;
    memcpy(file.data() + kSegmentBaseAt, &beyond, sizeof(beyond));
    const LogCapture log;
    EXPECT_EQ(load_error(file), Error::InvalidProgram) << length;
    EXPECT_TRUE(log.contains("program header: segments in bytes")) << log.text();
  }
}

TEST(ProgramVerifier, AcceptsEmptyTensorsWhoseStridesTimesSizesFit) {
  for (const int32_t size : {1, 1 << 14, INT32_MAX}) {
    const Error expected = size == INT32_MAX ? Error::InvalidProgram : Error::Ok;
    TestProgram program = add_program();
    TestTensor empty;
    empty.type = fb::ScalarType::DOUBLE;
    empty.sizes = {size, size, 0};
    empty.dim_order = {0, 1, 2};
    program.plans[0].values.push_back(tensor(empty));
    EXPECT_EQ(load_error(program), expected) << size;
    empty.sizes = {size, size, 0, 1};
    empty.dim_order = {2, 0, 1, 3};
    program.plans[0].values.back() = tensor(empty);
    EXPECT_EQ(load_error(program), expected) << size;
  }
}

TEST(ProgramVerifier, AcceptsAJumpToTheEnd) {
  TestProgram program = full_program();
  code(program)[2].second = 5;
  EXPECT_EQ(load_error(program), Error::Ok);
}

TEST(ProgramVerifier, AcceptsAProgramWithoutMethods) {
  EXPECT_EQ(load_error(TestProgram{}), Error::Ok);
}

TEST(ProgramVerifier, RefusesListsThatRepeatBeyondTheFile) {
  // One long list, used by many instructions.
  TestProgram program = add_program();
  TestPlan& plan = program.plans[0];
  plan.values.push_back(list(Kind::TensorList, std::vector<int64_t>(20000, 0)));
  plan.chains[0].assign(2000, kernel(0, {3, 3, 3, 3}));
  const LogCapture log;
  EXPECT_EQ(load_error(program), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("repeat beyond the size of the file")) << log.text();
}

}  // namespace
}  // namespace executorch::testing
