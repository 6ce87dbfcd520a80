// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Payloads that each break one rule of the verifier, whose message names it.
#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <backends/xnnpack/payload/payload_builder.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using runtime::Error;
using Kind = fb_xnnpack::XNodeUnion;
using P = TestPayload;

Error parse(const std::vector<uint8_t>& bytes) {
  runtime::runtime_init();
  return Payload::parse({bytes.data(), bytes.size()}).error();
}

/// x [2, 4] times a constant [3, 4], plus a bias, clamped: value 3; and its sum with itself.
P linear() {
  P payload;
  payload.values = {input(0, {2, 4}), constant(1, {3, 4}), constant(2, {3}), {}, output(1, {2, 3})};
  payload.values[3].dims = {2, 3};
  payload.nodes = {{Kind::FullyConnected, {0, 1, 2, 3}, {}, true}, {Kind::Add, {3, 3, 4}}};
  payload.constants = {{}, {0, 48, ""}, {48, 12, ""}};
  payload.constant_bytes = 64;
  return payload;
}

/// The same with weights of int8, each row with a scale of its own.
P by_channel() {
  P payload = linear();
  TestValue& weights = payload.values[1];
  weights.datatype = Datatype::QCInt8;
  weights.quantization = Quantization::Channels;
  weights.scales = {1, 2, 3};
  return payload;
}

/// The same with weights of 4 bits, two groups a row, and x quantized for each row.
P by_group() {
  P payload = linear();
  TestValue& weights = payload.values[1];
  weights.datatype = Datatype::QBInt4;
  weights.quantization = Quantization::Groups;
  weights.group = 2;
  weights.scale_buffer = 3;
  weights.scale_count = 6;
  payload.constants.push_back({48, 12, ""});
  TestValue rows = {};
  rows.datatype = Datatype::QDInt8;
  rows.quantization = Quantization::Tokens;
  rows.quantized_dim = 1;
  payload.values.push_back(rows);
  payload.nodes[0].numbers[0] = 5;
  payload.nodes.insert(payload.nodes.begin(), {Kind::Convert, {0, 5}});
  return payload;
}

/// An image [1, 4, 4, 2] convolved.
P convolution(const TestValue& image, Datatype weights) {
  P payload;
  payload.values = {image, with(constant(1, {3, 1, 1, 2}), weights), constant(2, {3}),
                    output(1, {1, 4, 4, 3})};
  payload.nodes = {{Kind::Conv2d, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 1, 0, 0, 0, 1, 2, 3}}};
  payload.constants = {{}, {0, 24, ""}, {24, 12, ""}};
  payload.constant_bytes = 64;
  return payload;
}

/// The same on an image that is quantized whole, and weights of int8.
P image_by_channel() {
  P payload = convolution(input(0, {1, 4, 4, 2}), Datatype::QCInt8);
  payload.values[0].datatype = Datatype::QDInt8;
  payload.values[0].quantization = Quantization::Tokens;
  payload.values[0].quantized_dim = 3;
  payload.values[1].quantization = Quantization::Channels;
  payload.values[1].scales = {1, 1, 1};
  return payload;
}

TEST(PayloadVerifier, AcceptsThePayloadsThatTheMutationsChange) {
  EXPECT_EQ(parse(image_by_channel().bytes()), Error::Ok);
  EXPECT_EQ(parse(linear().bytes()), Error::Ok);
  EXPECT_EQ(parse(by_channel().bytes()), Error::Ok);
  EXPECT_EQ(parse(by_group().bytes()), Error::Ok);
  EXPECT_EQ(parse(convolution(input(0, {1, 4, 4, 2}), Datatype::Float32).bytes()), Error::Ok);
}

struct Mutation {
  std::string name;
  P (*start)();
  std::function<void(P&)> change;
  std::string message;
  Error error = Error::InvalidProgram;
};
void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

const std::vector<Mutation>& values() {
  static const std::vector<Mutation> rows = {
      {"NoConstantTable", linear, [](P& p) { p.constants.clear(); }, "constant table is missing"},
      {"ANamedConstantWithoutAName", linear, [](P& p) { p.constants[1].offset = kInNamedData; },
       "constant 1 has no name"},
      {"AConstantBehindTheConstants", linear, [](P& p) { p.constants[1].offset = 60; },
       "a constant has 48 bytes at 60"},
      {"AConstantWhoseEndOverflows", linear, [](P& p) { p.constants[1].size = UINT64_MAX; },
       "a constant has 18446744073709551615 bytes"},
      {"AnIdBeyondTheValues", linear, [](P& p) { p.values[2].wrong_id = 9; },
       "value 2 has id 11, expected an unused one below 5"},
      {"AnIdTwice", linear, [](P& p) { p.values[2].wrong_id = -1; }, "value 2 has id 1"},
      {"NoDatatype", linear, [](P& p) { p.values[3].datatype = Datatype::Invalid; },
       "value 3 has datatype 0", Error::NotSupported},
      {"ADatatypeOfALaterFormat", linear,
       [](P& p) { p.values[3].datatype = static_cast<Datatype>(99); }, "value 3 has datatype 99",
       Error::NotSupported},
      {"AnotherNumberOfDimensions", linear, [](P& p) { p.values[3].wrong_rank = 1; },
       "value 3 has 3 dimensions and 2 sizes"},
      {"SevenDimensions", linear, [](P& p) { p.values[3].dims = {1, 1, 1, 1, 1, 2, 3}; },
       "value 3 has 7 dimensions"},
      {"RowsOfHalfAByte", by_group, [](P& p) { p.values[1].dims = {4, 3}; },
       "value 1 has rows of half a byte", Error::NotSupported},
      {"ANumberOfFourBits", by_group, [](P& p) { p.values[1].dims = {}; },
       "value 1 has rows of half a byte", Error::NotSupported},
      {"MoreThanMemory", linear, [](P& p) { p.values[3].dims = {1u << 31, 1u << 31}; },
       "value 3 is larger than memory"},
      {"SizesThatOverflow", linear,
       [](P& p) { p.values[3].dims = {UINT32_MAX, UINT32_MAX, UINT32_MAX}; },
       "value 3 is larger than memory"},
      {"AConstantThatIsNotInTheTable", linear, [](P& p) { p.values[2].constant = 3; },
       "value 2 is constant 3 of 3"},
      {"AConstantThatIsTooShort", linear, [](P& p) { p.constants[2].size = 11; },
       "value 2 needs 12 bytes, its constant has 11"},
      {"AConstantThatIsAnArgument", linear, [](P& p) { p.values[2].external = 0; },
       "value 2 is constant and an argument"},
      {"WeightsByChannelWithoutScales", by_channel,
       [](P& p) { p.values[1].quantization = Quantization::None; },
       "value 1 of datatype QCInt8 has quantization parameters NONE, expected PerChannelQuant"},
      {"WeightsByChannelWithOneScale", by_channel,
       [](P& p) { p.values[1].quantization = Quantization::Tensor; },
       "has quantization parameters PerTensorQuant, expected PerChannelQuant"},
      {"AFloatWithScales", linear, [](P& p) { p.values[3].quantization = Quantization::Tensor; },
       "value 3 of datatype Float32 has quantization parameters PerTensorQuant, expected NONE"},
      {"TooFewScales", by_channel, [](P& p) { p.values[1].scales = {1}; },
       "value 1 has 1 scales, expected 3"},
      {"ScalesThatAreNoConstant", by_channel,
       [](P& p) {
         p.values[1].scale_buffer = 7;
         p.values[1].scale_count = 3;
       },
       "the scales of value 1 are missing"},
      {"ScalesInTooShortAConstant", by_channel,
       [](P& p) {
         p.values[1].scale_buffer = 2;
         p.values[1].scale_count = 3;
         p.constants[2].size = 11;
         p.values[2].constant = 1;
       },
       "the scales of value 1 are missing"},
      {"NoChannelDimension", by_channel, [](P& p) { p.values[1].quantized_dim = 2; },
       "value 1 lacks the channel dimension 2"},
      {"ANegativeChannelDimension", by_channel, [](P& p) { p.values[1].quantized_dim = -1; },
       "value 1 lacks the channel dimension -1"},
      {"GroupsThatDoNotDivide", by_group, [](P& p) { p.values[1].group = 3; },
       "value 1 does not divide into groups of 3"},
      {"GroupsOfNothing", by_group, [](P& p) { p.values[1].group = 0; },
       "does not divide into groups of 0"},
      {"NegativeGroups", by_group, [](P& p) { p.values[1].group = -2; },
       "does not divide into groups of -2"},
      {"GroupsOfColumns", by_group, [](P& p) { p.values[1].quantized_dim = 1; },
       "does not divide into groups"},
      {"GroupsOfAVector", by_group, [](P& p) { p.values[1].dims = {12}; },
       "does not divide into groups"},
      {"ScalesOfGroupsOfAnOlderFormat", by_group, [](P& p) { p.values[1].scale_buffer = 0; },
       "scales of groups of an older format", Error::NotSupported},
      {"TooFewScalesOfGroups", by_group, [](P& p) { p.values[1].scale_count = 5; },
       "value 1 has 5 scales, expected 6"},
      {"ScalesOfGroupsInTooShortAConstant", by_group, [](P& p) { p.constants[3].size = 11; },
       "the scales of value 1 are missing"},
      {"AConstantThatIsToBeQuantizedWhileRunning", by_group,
       [](P& p) {
         p.values[5].constant = 1;
         p.nodes.erase(p.nodes.begin());
       },
       "value 5 is a constant, but is to be quantized at run time"},
      {"NothingQuantizedTogether", by_group, [](P& p) { p.values[5].quantized_dim = 0; },
       "value 5 quantizes over 0 of 2 dimensions"},
      {"MoreDimensionsTogetherThanThereAre", by_group, [](P& p) { p.values[5].quantized_dim = 3; },
       "value 5 quantizes over 3 of 2 dimensions"},
  };
  return rows;
}

const std::vector<Mutation>& graphs() {
  static const std::vector<Mutation> rows = {
      {"AnotherNumberOfArguments", linear, [](P& p) { p.wrong_arguments = 1; },
       "3 arguments, expected 1 inputs and 1 outputs"},
      {"AnInputThatIsNoValue", linear,
       [](P& p) {
         p.inputs = {9};
         p.outputs = {4};
       },
       "input 9 is not one of arguments 0 to 0"},
      {"AnInputThatIsListedTwice", linear,
       [](P& p) {
         p.inputs = {0, 0};
         p.outputs = {};
       },
       "input 0 is not one of arguments 0 to 1, or is listed twice"},
      {"AnOutputWithAnothersNumber", linear,
       [](P& p) {
         p.inputs = {0};
         p.outputs = {3};
       },
       "output 3 is not one of arguments 1 to 1"},
      {"AnInputThatSaysThatItIsAnOutput", linear,
       [](P& p) {
         p.inputs = {0};
         p.outputs = {4};
         p.values[0].flags = 2;
       },
       "value 0 has flags 2, expected 1 for argument 0"},
      {"AnOutputThatSaysThatItIsAnInput", linear,
       [](P& p) {
         p.inputs = {0};
         p.outputs = {4};
         p.values[4].flags = 1;
       },
       "value 4 has flags 1, expected 2 for argument 1"},
      {"AValueThatSaysThatItIsAnOutput", linear, [](P& p) { p.values[3].flags = 2; },
       "value 3 has flags 2, expected 0"},
      {"AnArgumentThatIsNotListed", linear,
       [](P& p) {
         p.inputs = {0};
         p.outputs = {4};
         p.values[3] = output(2, {2, 3});
       },
       "value 3 is argument 2 of 2"},
      {"TwoValuesOfOneArgument", linear,
       [](P& p) {
         p.inputs = {0};
         p.outputs = {4};
         p.values[3] = output(1, {2, 3});
       },
       "3 values are arguments, expected one for each of 2"},
      {"AnOperandThatIsNoValue", linear, [](P& p) { p.nodes[1].numbers[1] = 5; },
       "node 1 (Add) has operand 5 of 5 values"},
      {"AnOperandThatIsLeftOut", linear, [](P& p) { p.nodes[1].numbers[1] = kNoId; },
       "node 1 (Add) has operand 4294967295"},
      {"AResultThatIsLeftOut", linear, [](P& p) { p.nodes[1].numbers[2] = kNoId; },
       "node 1 (Add) has operand 4294967295"},
      {"AWrittenConstant", linear, [](P& p) { p.nodes[1].numbers = {3, 3, 1}; },
       "node 1 writes the constant 1"},
      {"QuantizedRowsInASum", by_group, [](P& p) { p.nodes[2].numbers = {5, 5, 4}; },
       "node 2 (Add) has value 5, quantized at run time over 1 of 2 dimensions"},
      {"QuantizedRowsAsASum", by_group, [](P& p) { p.nodes[2].numbers = {0, 0, 5}; },
       "node 2 (Add) has value 5, quantized at run time"},
      {"RowsThatAreNotQuantizedOneByOne", by_group, [](P& p) { p.values[5].quantized_dim = 2; },
       "node 1 (FullyConnected) has value 5, quantized at run time over 2 of 2 dimensions"},
      {"AConversionToRowsOfNoKind", by_group,
       [](P& p) { p.values[5].quantization = Quantization::Tensor; },
       "value 5 of datatype QDInt8 has quantization parameters PerTensorQuant, expected "
       "PerTokenDynamicQuant"},
      {"LimitedIntegers", linear,
       [](P& p) {
         p.values[3].datatype = Datatype::QInt32;
         p.values[3].quantization = Quantization::Tensor;
         p.nodes = {{Kind::Convert, {0, 3}, {}, true}, {Kind::Convert, {3, 4}}};
       },
       "node 0 limits results of datatype QInt32"},
      {"ScalesOfTheInputs", by_channel,
       [](P& p) {
         p.values[1].quantized_dim = 1;
         p.values[1].scales = {1, 2, 3, 4};
       },
       "node 0 has weights 1 with scales along dimension 1, expected 0"},
      {"ScalesOfTheInputsTransposed", by_channel, [](P& p) { p.nodes[0].numbers.push_back(1); },
       "node 0 has weights 1 with scales along dimension 0, expected 1"},
      {"GroupsTransposed", by_group, [](P& p) { p.nodes[1].numbers.push_back(1); },
       "node 1 has weights 1 with scales along dimension 0, expected 1"},
      {"ScalesOfAConvolutionsInputs", [] { return image_by_channel(); },
       [](P& p) {
         p.values[1].quantized_dim = 3;
         p.values[1].scales = {1, 1};
       },
       "node 0 has weights 1 with scales along dimension 3, expected 0"},
      {"ScalesOfADepthwiseConvolutionsRows", [] { return image_by_channel(); },
       [](P& p) {
         p.nodes[0].kind = Kind::DepthwiseConv2d;
         for (const size_t value : {0, 3}) {
           p.values[value].datatype = Datatype::QInt8;
           p.values[value].quantization = Quantization::Tensor;
         }
       },
       "node 0 has weights 1 with scales along dimension 0, expected 3"},
      {"ABiasOfBytes", by_channel,
       [](P& p) {
         p.values[2].datatype = Datatype::QInt8;
         p.values[2].quantization = Quantization::Tensor;
       },
       "node 0 has operand 0 of datatype Float32 and a bias of QInt8"},
      {"ABiasOfIntegersForFloats", by_group, [](P& p) { p.values[2].datatype = Datatype::Int32; },
       "node 1 has operand 5 of datatype QDInt8 and a bias of Int32"},
      {"ABiasThatIsQuantizedWhileRunning", linear,
       [](P& p) {
         p.values[2] = {};
         p.values[2].dims = {3};
         p.values[2].datatype = Datatype::QDInt8;
         p.values[2].quantization = Quantization::Tokens;
         p.values[2].quantized_dim = 1;
       },
       "and a bias of QDInt8"},
      {"ABiasOfFloatsForBytes", image_by_channel,
       [](P& p) {
         for (const size_t value : {0, 3}) {
           p.values[value].datatype = Datatype::QInt8;
           p.values[value].quantization = Quantization::Tensor;
         }
       },
       "node 0 has operand 0 of datatype QInt8 and a bias of Float32"},
      {"DatatypesOfASumThatDiffer", linear,
       [](P& p) {
         p.nodes[0].is_limited = false;
         p.values[4].datatype = Datatype::Float16;
       },
       "the datatypes of node 1 (Add) do not go together"},
      {"DatatypesOfAProductThatDiffer", linear,
       [](P& p) { p.values[0].datatype = Datatype::Float16; },
       "the datatypes of node 0 (FullyConnected) do not go together"},
      {"DatatypesOfAConvolutionThatDiffer",
       [] { return convolution(input(0, {1, 4, 4, 2}), Datatype::Float16); }, [](P&) {},
       "the datatypes of node 0 (Conv2d) do not go together"},
      {"AnImageQuantizedByItsRows",
       [] { return convolution(input(0, {1, 4, 4, 2}), Datatype::Float32); },
       [](P& p) {
         p.values[0].datatype = Datatype::QDInt8;
         p.values[0].quantization = Quantization::Tokens;
         p.values[0].quantized_dim = 1;
       },
       "node 0 (Conv2d) has value 0, quantized at run time over 1 of 4 dimensions"},
      {"AMatrixQuantizedAsAnImage", by_group,
       [](P& p) {
         p.values[5].dims = {1, 2, 4};
         p.values[5].quantized_dim = 3;
       },
       "node 1 (FullyConnected) has value 5, quantized at run time over 3 of 3"},
  };
  return rows;
}

class PayloadMutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(PayloadMutationTest, IsRefusedByName) {
  const Mutation& mutation = GetParam();
  P payload = mutation.start();
  mutation.change(payload);
  const LogCapture log;
  EXPECT_EQ(parse(payload.bytes()), mutation.error);
  EXPECT_TRUE(log.contains(mutation.message))
      << "expected: " << mutation.message << "\nfound: " << log.text();
}

INSTANTIATE_TEST_SUITE_P(Values, PayloadMutationTest, ::testing::ValuesIn(values()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Graphs, PayloadMutationTest, ::testing::ValuesIn(graphs()),
                         executorch::testing::NameOfRow());

TEST(PayloadVerifier, AcceptsScalesAmongTheConstantsAndLongerConstants) {
  P payload = by_channel();
  payload.values[1].scale_buffer = 2;
  payload.values[1].scale_count = 3;
  payload.constants[1].size = 64;
  EXPECT_EQ(parse(payload.bytes()), Error::Ok);
}

TEST(PayloadVerifier, AcceptsDatatypesOfEveryWidth) {
  for (const Datatype datatype :
       {Datatype::Float32, Datatype::Float16, Datatype::QInt8, Datatype::QUInt8, Datatype::QInt32,
        Datatype::QCInt8, Datatype::QCInt32, Datatype::QCInt4, Datatype::QDInt8, Datatype::QBInt4,
        Datatype::QPInt8, Datatype::Int32, Datatype::PFloat32, Datatype::BFloat16}) {
    P payload = linear();
    TestValue value = with({}, datatype);
    switch (parameters_of(datatype)) {
      case fb_xnnpack::XNNQuantParams::NONE:
        break;
      case fb_xnnpack::XNNQuantParams::PerTensorQuant:
        value.quantization = Quantization::Tensor;
        break;
      case fb_xnnpack::XNNQuantParams::PerChannelQuant:
        value.quantization = Quantization::Channels;
        value.scales = {1, 1};
        break;
      case fb_xnnpack::XNNQuantParams::PerTokenDynamicQuant:
        value.quantization = Quantization::Tokens;
        value.quantized_dim = 1;
        break;
      case fb_xnnpack::XNNQuantParams::PerChannelGroupQuant:
        value.quantization = Quantization::Groups;
        value.group = 4;
        value.scale_buffer = 1;
        value.scale_count = 2;
        break;
    }
    payload.values.push_back(value);
    EXPECT_EQ(parse(payload.bytes()), Error::Ok) << fb_xnnpack::EnumNameDatatype(datatype);
  }
}

/// Each field of a node that lies outside of the flatbuffer.
TEST(PayloadVerifier, RefusesFieldsOfNodesOutsideOfTheGraph) {
  P payload = linear();
  payload.nodes[0].full_precision = true;
  const std::vector<uint8_t> bytes = payload.bytes();
  EXPECT_EQ(parse(bytes), Error::Ok);
  uint32_t graph = 0;
  memcpy(&graph, bytes.data() + 10, sizeof(graph));
  const auto* const node = reinterpret_cast<const uint8_t*>(
      fb_xnnpack::GetXNNGraph(bytes.data() + graph)->xnodes()->Get(0));
  const uint8_t* const vtable = node - flatbuffers::ReadScalar<flatbuffers::soffset_t>(node);
  const auto size = flatbuffers::ReadScalar<uint16_t>(vtable);
  ASSERT_GT(size, fb_xnnpack::XNode::VT_FULL_PRECISION);
  for (size_t slot = fb_xnnpack::XNode::VT_XNODE_UNION_TYPE; slot < size; slot += 2) {
    std::vector<uint8_t> changed = bytes;
    const uint16_t far = 0xfffc;
    memcpy(changed.data() + (vtable - bytes.data()) + slot, &far, sizeof(far));
    EXPECT_EQ(parse(changed), Error::InvalidProgram) << "vtable slot " << slot;
  }
}

/// A header that is wrong in one place.
TEST(PayloadVerifier, RefusesWrongHeaders) {
  struct Row {
    size_t at;
    uint64_t number;
    size_t width;
    std::string message;
  };
  const std::vector<Row> rows = {
      {4, 0, 4, "expected XH00 at byte 4"},
      {8, 29, 2, "expected XH00 at byte 4"},
      {10, UINT32_MAX, 4, "the graph has "},
      {14, UINT32_MAX, 4, "the graph has 4294967295 bytes"},
      {14, 7, 4, "the graph has 7 bytes, expected at least 8"},
      {18, UINT32_MAX, 4, "the constants has "},
      {22, UINT64_MAX, 8, "the constants has 18446744073709551615 bytes"},
      {32 + 4, 0, 4, "expected a graph of format XN01"},
      {32, UINT32_MAX, 4, "the root lies outside"},
  };
  for (const Row& row : rows) {
    std::vector<uint8_t> bytes = linear().bytes();
    memcpy(bytes.data() + row.at, &row.number, row.width);
    const LogCapture log;
    EXPECT_EQ(parse(bytes), Error::InvalidProgram) << row.message;
    EXPECT_TRUE(log.contains(row.message)) << row.message << "\nfound: " << log.text();
  }
  const LogCapture log;
  EXPECT_EQ(parse(std::vector<uint8_t>(29)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("29 bytes, expected at least 30"));
}

}  // namespace
}  // namespace executorch::backends::xnnpack
