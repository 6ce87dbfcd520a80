// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>

namespace executorch::backends::xnnpack {
namespace {

using P = TestPayload;
using fb_xnnpack::Datatype;
constexpr const char* kDatatypes = "do not go together";
constexpr const char* kNoOperator = "no operator runs node";
constexpr const char* kBoolean = "of datatype Bool, which it does not take";

/// input 0, output 1, a boolean constant 2 of bytes that are neither 0 nor 1, one node.
P graph(TestValue in, TestValue out, Dims mask, TestNode node) {
  P p;
  p.values = {std::move(in), std::move(out), with(constant(1, mask), Datatype::Bool)};
  p.constant_fill = 0x3f;
  p.constant_bytes = 1;
  for (const uint32_t dim : mask) p.constant_bytes *= dim;
  p.constants.push_back({0, p.constant_bytes, ""});
  p.nodes = {std::move(node)};
  return p;
}

TestValue of(TestValue value, Datatype datatype) { return with(std::move(value), datatype); }

}  // namespace

std::vector<HostilePayload> hostile_booleans() {
  const TestValue in = input(0, {2, 4}), out = output(1, {2, 4});
  const Datatype boolean = Datatype::Bool;
  return {
      row("SelectionByBytesThatAreNeitherTrueNorFalse",
          graph(in, out, {2, 4}, {Kind::Select, {2, 0, 0, 1}})),
      row("SelectionByOneByteForAll", graph(in, out, {1}, {Kind::Select, {2, 0, 0, 1}})),
      row("SelectionByMoreBytesThanTheResultHas",
          graph(in, out, {3, 2, 4}, {Kind::Select, {2, 0, 0, 1}}), kMisfit),
      row("SelectionByBytesThatAreNotBroadcast",
          graph(in, out, {2, 3}, {Kind::Select, {2, 0, 0, 1}}), kMisfit),
      row("SelectionByNothing", graph(in, out, {0}, {Kind::Select, {2, 0, 0, 1}}),
          "is a constant without elements"),
      row("SelectionByNumbers", graph(in, out, {2, 4}, {Kind::Select, {0, 0, 0, 1}}), kDatatypes),
      row("SelectionOfBooleansAndNumbers", graph(in, out, {2, 4}, {Kind::Select, {2, 0, 2, 1}}),
          kDatatypes),
      row("SelectionBeyondTheValues", graph(in, out, {2, 4}, {Kind::Select, {2, 0, 9, 1}}),
          "has operand 9 of 3 values"),
      row("SelectionThatWritesItsMask", graph(in, out, {2, 4}, {Kind::Select, {2, 2, 2, 2}}),
          "writes the constant 2"),
      row("SelectionOfOtherScales",
          graph(quantized(in, 0.5f), quantized(out, 0.25f), {2, 4}, {Kind::Select, {2, 0, 0, 1}}),
          kNoOperator),
      row("LimitedBooleans",
          graph(of(in, boolean), of(out, boolean), {2, 4}, {Kind::Select, {2, 0, 0, 1}, {}, true}),
          "limits results of datatype Bool"),
      row("LimitedSelection", graph(in, out, {2, 4}, {Kind::Select, {2, 0, 0, 1}, {}, true})),
      row("ComparisonToNumbers", graph(in, out, {2, 4}, {Kind::Less, {0, 0, 1}}), kDatatypes),
      row("ComparisonOfBooleansWithNumbers",
          graph(in, of(out, boolean), {2, 4}, {Kind::Equal, {0, 2, 1}}), kDatatypes),
      row("ComparisonThatIsNotBroadcast",
          graph(of(in, boolean), of(out, boolean), {3}, {Kind::NotEqual, {0, 2, 1}}), kMisfit),
      row("ComparisonOfQuantizedNumbers",
          graph(quantized(in, 0.5f), of(out, boolean), {2, 4}, {Kind::Equal, {0, 0, 1}}),
          kNoOperator),
      row("ComparisonOfBytesThatAreNeitherTrueNorFalse",
          graph(of(in, boolean), of(out, boolean), {2, 4}, {Kind::Equal, {0, 2, 1}})),
      row("SumOfBooleans", graph(of(in, boolean), of(out, boolean), {2, 4}, {Kind::Add, {0, 2, 1}}),
          kBoolean),
      row("SoftmaxOfBooleans",
          graph(of(in, boolean), of(out, boolean), {2, 4}, {Kind::Softmax, {0, 1}}), kBoolean),
      row("ConversionOfBooleans", graph(of(in, boolean), out, {2, 4}, {Kind::Convert, {0, 1}}),
          kBoolean),
      row(
          "BooleansWithAScale",
          [&] {
            TestValue scaled = quantized(in, 0.5f);
            scaled.datatype = boolean;
            return graph(scaled, of(out, boolean), {2, 4}, {Kind::Copy, {0, 1}});
          }(),
          "has quantization parameters PerTensorQuant, expected NONE"),
      row("BooleansAsWeights",
          graph(in, output(1, {2, 2}), {2, 4}, {Kind::FullyConnected, {0, 2, kNoId, 1}}), kBoolean),
      row("GatherBeyondTheSize",
          graph(in, out, {1}, {Kind::StaticGather, {1, 0, 1}, {{3, 4, 0, UINT32_MAX}}}), kMisfit),
      row("GatherOfNoPlaces", graph(in, out, {1}, {Kind::StaticGather, {1, 0, 1}}), kMisfit),
      row("GatherOfAsManyBooleansAsMemoryHas",
          graph(of(in, boolean), of(out, boolean), {1},
                {Kind::StaticGather, {1, 0, 1}, {{3, 3, 3, 0}}})),
      row("GatherOfOtherScales",
          graph(quantized(in, 0.5f), quantized(out, 0.25f), {1},
                {Kind::StaticGather, {1, 0, 1}, {{3, 2, 1, 0}}}),
          kNoOperator),
      row("BooleansTransposed", graph(of(in, boolean), of(output(1, {4, 2}), boolean), {1},
                                      {Kind::StaticTranspose, {2, 0, 1}, {{1, 0}}})),
      row("BooleansPadded", graph(of(in, boolean), of(output(1, {3, 4}), boolean), {1},
                                  {Kind::StaticConstantPad, {0, 0, 1}, {{1, 0}, {0, 0}}})),
  };
}

}  // namespace executorch::backends::xnnpack
