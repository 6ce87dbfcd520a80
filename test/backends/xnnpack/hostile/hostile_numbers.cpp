// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <limits>
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using Kind = fb_xnnpack::XNodeUnion;
using P = TestPayload;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Bits of floats in fields of nodes.
constexpr uint32_t kNaNBits = 0x7fc00000u, kInfinityBits = 0x7f800000u, kLargeBits = 0x7f000000u;

void quantize(TestValue& value, float scale, int32_t zero_point,
              Datatype datatype = Datatype::QInt8) {
  value.datatype = datatype;
  value.quantization = Quantization::Tensor;
  value.scale = scale;
  value.zero_point = zero_point;
}

/// One node from input 0 to output 1, both of int8 with these scales.
HostilePayload row(std::string name, TestNode node, std::vector<float> scales,
                   std::vector<int32_t> zero_points, std::string refused = "",
                   Datatype datatype = Datatype::QInt8) {
  P p;
  p.values = {input(0, {2, 4}), output(1, {2, 4})};
  for (size_t i = 0; i < p.values.size(); ++i) {
    if (!scales.empty()) quantize(p.values[i], scales[i], zero_points[i], datatype);
  }
  p.nodes = {std::move(node)};
  return {std::move(name), [p] { return program_of(p); }, std::move(refused)};
}

/// A clamp of floats, or of integers.
HostilePayload clamp(std::string name, float min, float max, bool is_quantized,
                     std::string refused = "") {
  TestNode node{Kind::Clamp, {0, 1}, {}, true, min, max};
  std::vector<float> scales;
  if (is_quantized) scales = {0.5f, 0.5f};
  return row(std::move(name), node, std::move(scales), {0, 0}, std::move(refused));
}

HostilePayload changed(std::string name, std::function<void(P&)> change, std::string refused = "") {
  P p;
  p.values = {input(0, {2, 4}), output(1, {2, 4})};
  p.nodes = {{Kind::Convert, {0, 1}}};
  change(p);
  return {std::move(name), [p] { return program_of(p); }, std::move(refused)};
}

}  // namespace

std::vector<HostilePayload> hostile_numbers() {
  const char* const kInvalid = "invalid scales, zero points or block sizes";
  const TestNode sum = {Kind::Add, {0, 0, 1}};
  return {
      row("AScaleIsNotANumber", sum, {kNaN, 1}, {0, 0}, kInvalid),
      row("AScaleIsInfinite", sum, {kInfinity, 1}, {0, 0}, kInvalid),
      row("AScaleIsSubnormal", sum, {1e-40f, 1}, {0, 0}, kInvalid),
      row("AZeroPointIsBeyondItsType", sum, {1, 1}, {128, 0}, kInvalid),
      row("AZeroPointIsNegative", sum, {1, 1}, {-1, 0}, kInvalid, Datatype::QUInt8),
      row("ScalesAreFarApart", sum, {1e-37f, 1e37f}, {0, 0}),
      row("ScalesAreFarApartTheOtherWay", sum, {1e37f, 1e-37f}, {0, 0}),
      row("AProductsScalesAreFarApart", {Kind::Multiply, {0, 0, 1}}, {1e37f, 1e-37f}, {0, 0}),
      row("ASigmoidHasAnyScale", {Kind::Sigmoid, {0, 1}}, {1e37f, 1e-37f}, {127, -128}),
      row("ATanhHasAnyScale", {Kind::Tanh, {0, 1}}, {1e37f, 1e37f}, {127, -128}),
      row("ACopyChangesTheScale", {Kind::Copy, {0, 1}}, {1, 2}, {0, 5}, "Copy"),
      row("AMaximumChangesTheScale", {Kind::Maximum, {0, 0, 1}}, {1, 2}, {0, 5}),
      row("ATransposeChangesTheScale", {Kind::StaticTranspose, {2, 0, 1}, {{0, 1}}}, {1, 2}, {0, 5},
          "StaticTranspose"),
      row("APadIsNotANumber", {Kind::StaticConstantPad, {kNaNBits, 0, 1}, {{0, 0}, {0, 0}}},
          {0.5f, 0.5f}, {1, 1}),
      row("APadIsBeyondItsType", {Kind::StaticConstantPad, {kLargeBits, 0, 1}, {{0, 0}, {0, 0}}},
          {0.5f, 0.5f}, {1, 1}),
      row("ALeakHasNoEnd", {Kind::LeakyReLU, {kInfinityBits, 0, 1}}, {}, {}),
      row("AQuantizedLeakHasNoEnd", {Kind::LeakyReLU, {kInfinityBits, 0, 1}}, {1, 1}, {0, 0}),
      row("AnExponentialHasNoAlpha", {Kind::ELU, {kNaNBits, 0, 1}}, {}, {}),
      row("AQuantizedExponentialHasALargeAlpha", {Kind::ELU, {kLargeBits, 0, 1}}, {1, 1}, {0, 0}),
      clamp("AClampIsReversed", 6, 0, false),
      clamp("AClampIsNotANumber", kNaN, kNaN, false),
      clamp("AQuantizedClampIsReversed", 6, 0, true),
      clamp("AQuantizedClampIsNotANumber", kNaN, kNaN, true),
      clamp("AQuantizedClampIsFarAway", 1e30f, 1e35f, true),
      changed(
          "IntegersOfFourBytesAreConverted",
          [](P& p) { quantize(p.values[0], 1, 0, Datatype::QInt32); }, "Convert"),
      changed("IntegersWithoutScalesAreConverted",
              [](P& p) { p.values[0].datatype = Datatype::Int32; }),
      changed(
          "ScalesByChannelAreConverted",
          [](P& p) {
            p.values.push_back({});
            p.values[2].datatype = Datatype::QCInt8;
            p.values[2].quantization = Quantization::Channels;
            p.values[2].quantized_dim = 1;
            p.values[2].scales = {1, 1, 1, 1};
            p.nodes = {{Kind::Convert, {0, 2}}, {Kind::Convert, {2, 1}}};
          },
          "Convert"),
      changed(
          "AConversionIsToPackedFloats",
          [](P& p) {
            p.values.push_back({});
            p.values[2].datatype = Datatype::PFloat32;
            p.nodes = {{Kind::Convert, {0, 2}}, {Kind::Convert, {2, 1}}};
          },
          "Convert"),
      changed(
          "RowsAreQuantizedAsAWhole",
          [](P& p) {
            p.values.push_back({});
            p.values[2].datatype = Datatype::QDInt8;
            p.values[2].quantization = Quantization::Tokens;
            p.values[2].quantized_dim = 2;
            p.nodes = {{Kind::Convert, {0, 2}}, {Kind::Convert, {2, 1}}};
          },
          "quantized at run time"),
      changed(
          "AnArgumentIsQuantizedWhileRunning",
          [](P& p) {
            p.values[1].datatype = Datatype::QDInt8;
            p.values[1].quantization = Quantization::Tokens;
            p.values[1].quantized_dim = 1;
          },
          "has datatype QDInt8"),
      changed(
          "MaximaAreHalves",
          [](P& p) {
            p.values = {input(0, {1, 4, 4, 2}), with(output(1, {1, 2, 2, 2}), Datatype::Float16),
                        with(output(2, {1, 2, 2, 2}), Datatype::Int32)};
            p.nodes = {{Kind::ArgMaxPooling2d, {0, 0, 0, 0, 2, 2, 0, 1, 2}}};
          },
          "the datatypes of node 0 (ArgMaxPooling2d) do not go together"),
      changed("PositionsOfMaximaAreIntegers",
              [](P& p) {
                p.values = {input(0, {1, 4, 4, 2}), output(1, {1, 2, 2, 2}),
                            with(output(2, {1, 2, 2, 2}), Datatype::Int32)};
                p.nodes = {{Kind::ArgMaxPooling2d, {0, 0, 0, 0, 2, 2, 0, 1, 2}}};
              }),
      changed(
          "PositionsOfMaximaAreHalves",
          [](P& p) {
            p.values = {input(0, {1, 4, 4, 2}), output(1, {1, 2, 2, 2}),
                        with(output(2, {1, 2, 2, 2}), Datatype::Float16)};
            p.nodes = {{Kind::ArgMaxPooling2d, {0, 0, 0, 0, 2, 2, 0, 1, 2}}};
          },
          "the datatypes of node 0 (ArgMaxPooling2d) do not go together"),
  };
}

}  // namespace executorch::backends::xnnpack
