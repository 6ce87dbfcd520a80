// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

#include <backends/xnnpack/hostile/hostile_payloads.h>

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using Kind = fb_xnnpack::XNodeUnion;
using P = TestPayload;

HostilePayload row(std::string name, std::function<void(P&)> change, std::string refused = "");

/// x [2, 4] times a constant [3, 4] plus a bias, and one more product with value 5 [3, 4].
P two_products() {
  P p;
  p.values = {input(0, {2, 4}),  constant(1, {3, 4}), constant(2, {3}),
              output(1, {2, 3}), output(2, {2, 3}),   constant(1, {3, 4})};
  p.nodes = {{Kind::FullyConnected, {0, 1, 2, 3}}, {Kind::FullyConnected, {0, 5, kNoId, 4}}};
  p.constants = {{}, {0, 48, ""}, {48, 12, ""}};
  p.constant_bytes = 64;
  p.constant_fill = 0x3f;
  return p;
}

HostilePayload row(std::string name, std::function<void(P&)> change, std::string refused) {
  return {std::move(name),
          [change] {
            P p = two_products();
            change(p);
            return program_of(p);
          },
          std::move(refused)};
}

/// The same payload with constant 1 found by name in a segment of `bytes`. The program has `times`
/// entries of that name.
HostilePayload named(std::string name, uint64_t bytes, uint64_t expected, size_t times,
                     std::string refused = "") {
  return {std::move(name),
          [=] {
            P p = two_products();
            p.constants[1] = {kInNamedData, expected, "weights"};
            TestProgram program = program_of(p);
            program.segment_data = std::string(bytes, '\x3f');
            for (size_t i = 0; i < times; ++i) {
              program.segments.push_back({0, i == 0 ? bytes : bytes / 2});
              program.named_data.push_back({"weights", static_cast<uint32_t>(i)});
            }
            return program;
          },
          std::move(refused)};
}

void by_channel(TestValue& weights) {
  weights.datatype = Datatype::QCInt8;
  weights.quantization = Quantization::Channels;
  weights.scales = {1, 2, 3};
}

}  // namespace

std::vector<HostilePayload> hostile_constants() {
  return {
      row("OneConstantIsTwoWeights", [](P&) {}),
      row("ConstantsAreNotAligned", [](P& p) { p.constants[1].offset = 1; }),
      row("ConstantsOverlap", [](P& p) { p.constants[2] = {4, 12, ""}; }),
      row("OneConstantHasTwoShapes",
          [](P& p) {
            p.values[0].dims = {2, 3};
            p.values[1].dims = {3, 3};
            p.values[5].dims = {4, 3};
            p.values[4].dims = {2, 4};
          }),
      row("OneConstantIsTransposedAndNot",
          [](P& p) {
            p.values[0].dims = {2, 3};
            p.values[1].dims = {3, 3};
            p.values[5].dims = {3, 3};
            p.nodes[1].numbers.push_back(1);
          }),
      row("OneConstantIsFloatsAndIntegers", [](P& p) { by_channel(p.values[5]); }),
      row("OneConstantHasOtherScalesEachTime",
          [](P& p) {
            by_channel(p.values[1]);
            by_channel(p.values[5]);
            p.values[5].scales = {3, 2, 1};
          }),
      row("WeightsAreAddedToo",
          [](P& p) {
            p.values.push_back(output(3, {3, 4}));
            p.nodes.push_back({Kind::Add, {1, 5, 6}});
          }),
      row("WeightsAreTheFirstOperand",
          [](P& p) {
            p.values[4].dims = {3, 3};
            p.nodes[1].numbers = {1, 5, kNoId, 4};
          }),
      row("WeightsAreScales",
          [](P& p) {
            by_channel(p.values[5]);
            p.values[5].scales.clear();
            p.values[5].scale_buffer = 1;
            p.values[5].scale_count = 3;
          }),
      row("ScalesAreNotAligned",
          [](P& p) {
            by_channel(p.values[5]);
            p.values[5].scales.clear();
            p.values[5].scale_buffer = 3;
            p.values[5].scale_count = 3;
            p.constants.push_back({45, 12, ""});
          }),
      row("WeightsAreTheirOwnBias",
          [](P& p) {
            p.values[2] = constant(1, {3});
            p.nodes[1].numbers[2] = 2;
          }),
      row("ABiasIsAnInput",
          [](P& p) {
            p.values[2] = input(1, {3});
            p.values[3] = output(2, {2, 3});
            p.values[4] = output(3, {2, 3});
          }),
      row("WeightsAreAnInput",
          [](P& p) {
            p.values[5] = input(1, {3, 4});
            p.values[3] = output(2, {2, 3});
            p.values[4] = output(3, {2, 3});
          }),
      row(
          "AConstantIsAnInput", [](P& p) { p.values[5].external = 3, p.values[5].flags = 1; },
          "is constant and an argument"),
      row(
          "AnOutputIsAConstant", [](P& p) { p.values[4].constant = 1; },
          "is constant and an argument"),
      row("EntryZeroHasBytes", [](P& p) { p.constants[0] = {0, 64, ""}; }),
      row("AConstantHasMoreBytesThanItsValue", [](P& p) { p.constants[2].size = 16; }),
      named("ANamedConstantIsValid", 48, 48, 1),
      named("ANamedConstantIsShort", 47, 48, 1, "has 47 bytes, expected 48"),
      named("ANamedConstantHasNoBytes", 0, 48, 1, "expected 48"),
      named("ANamedConstantIsLong", 4096, 48, 1),
      named("ANamedConstantIsMissing", 48, 48, 0, "loading constant 'weights' failed"),
      named("ANamedConstantOccursTwice", 96, 48, 2),
      row(
          "ANamedConstantWithoutElementsIsMissing",
          [](P& p) {
            p.constants.push_back({kInNamedData, 0, "nothing"});
            p.values.push_back(constant(3, {0, 4}));
          },
          "is a constant without elements"),
  };
}

}  // namespace executorch::backends::xnnpack
