// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <limits>
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>

namespace executorch::backends::xnnpack {
namespace {

using P = TestPayload;
using fb_xnnpack::Datatype;
using Kind = fb_xnnpack::XNodeUnion;
constexpr uint32_t kTransposed = 1;

TestValue inner(Dims dims) { return constant(0, std::move(dims)); }

struct Scores {
  Dims query = {2, 3, 8}, key = {2, 5, 8}, value = {2, 5, 4}, scores = {2, 3, 5}, out = {2, 3, 4};
  /// Sizes of a mask that is added, and of booleans that replace scores; empty for none.
  Dims mask, replaced;
  bool replaces_with_scalar = true;
};

/// softmax(select(query keyᵀ + mask, …)) value, with all operands inputs.
P attention(const Scores& s) {
  P p;
  p.constant_fill = 0x3f;
  uint32_t arguments = 0;
  const auto add_input = [&](const Dims& dims, Datatype datatype = Datatype::Float32) {
    p.values.push_back(with(input(arguments++, dims), datatype));
    return static_cast<uint32_t>(p.values.size() - 1);
  };
  const auto add_inner = [&] {
    p.values.push_back(inner(s.scores));
    return static_cast<uint32_t>(p.values.size() - 1);
  };
  const uint32_t query = add_input(s.query), key = add_input(s.key), value = add_input(s.value);
  uint32_t scores = add_inner();
  p.nodes.push_back({Kind::BatchMatrixMultiply, {query, key, scores, kTransposed}});
  if (!s.mask.empty()) {
    const uint32_t mask = add_input(s.mask), sum = add_inner();
    p.nodes.push_back({Kind::Add, {scores, mask, sum}});
    scores = sum;
  }
  if (!s.replaced.empty()) {
    const uint32_t condition = add_input(s.replaced, Datatype::Bool);
    const uint32_t other = hostile_constant(p, s.replaces_with_scalar ? Dims{1} : s.scores);
    const uint32_t chosen = add_inner();
    p.nodes.push_back({Kind::Select, {condition, other, scores, chosen}});
    scores = chosen;
  }
  const uint32_t weights = add_inner();
  p.nodes.push_back({Kind::Softmax, {scores, weights}});
  p.values.push_back(output(arguments, s.out));
  p.nodes.push_back(
      {Kind::BatchMatrixMultiply, {weights, value, static_cast<uint32_t>(p.values.size() - 1)}});
  return p;
}

std::vector<HostilePayload> attentions() {
  Scores masked, replaced, both, row_mask, number, batch, wide, whole, late;
  masked.mask = {3, 5};
  replaced.replaced = {2, 3, 5};
  both.mask = {2, 1, 5};
  both.replaced = {1, 3, 1};
  row_mask.mask = {5};
  number.mask = {};
  number.replaced = {1};
  batch.mask = {2, 3, 5};
  batch.replaced = {3, 5};
  wide.replaced = {2, 3, 6};
  whole.replaced = {2, 3, 5};
  whole.replaces_with_scalar = false;
  late.mask = {2, 2, 3, 5};
  Scores broadcast;
  broadcast.query = {1, 3, 8};
  broadcast.mask = {2, 3, 1};
  return {
      row("AttentionWithAMaskForAllOfTheBatch", attention(masked)),
      row("AttentionWithBooleansForEachScore", attention(replaced)),
      row("AttentionWithAMaskAndBooleansOfOtherSizes", attention(both)),
      row("AttentionWithAMaskOfKeysAlone", attention(row_mask)),
      row("AttentionWithOneBoolean", attention(number)),
      row("AttentionWithAMaskForEachScore", attention(batch)),
      row("AttentionWithBooleansThatAreWider", attention(wide), kMisfit),
      row("AttentionWithOtherScoresInPlaceOfOne", attention(whole)),
      row("AttentionWithAMaskOfMoreDims", attention(late), kMisfit),
      row("AttentionWithOneQueryForTheBatch", attention(broadcast)),
  };
}

/// input 0 and 1 of bytes or floats, output 2; nodes over values 3, 4, ... of the same sizes.
P chain(TestValue a, TestValue b, TestValue out, std::vector<TestValue> between,
        std::vector<TestNode> nodes) {
  P p;
  p.values = {std::move(a), std::move(b), std::move(out)};
  for (TestValue& value : between) p.values.push_back(std::move(value));
  p.nodes = std::move(nodes);
  p.constant_fill = 0x3f;
  return p;
}

std::vector<HostilePayload> bytes() {
  const Dims dims = {3, 5};
  const TestValue a = quantized(input(0, dims)), b = quantized(input(1, dims), 0.25f);
  const TestValue out = quantized(output(2, dims), 0.125f), wide = inner(dims);
  P two_sources = chain(a, b, out, {wide, wide, wide},
                        {{Kind::Convert, {0, 3}},
                         {Kind::Convert, {1, 4}},
                         {Kind::Add, {3, 4, 5}},
                         {Kind::Convert, {5, 2}}});
  P own = chain(a, b, out, {wide, wide, wide},
                {{Kind::Convert, {0, 3}},
                 {Kind::Sigmoid, {3, 4}},
                 {Kind::Multiply, {3, 4, 5}},
                 {Kind::Convert, {5, 2}}});
  P divided = chain(a, b, out, {wide, wide, wide},
                    {{Kind::Convert, {0, 3}},
                     {Kind::Subtract, {3, 3, 4}},
                     {Kind::Div, {3, 4, 5}},
                     {Kind::Convert, {5, 2}}});
  P sliced = chain(a, b, quantized(output(2, {2, 5}), 0.125f), {wide, inner({2, 5})},
                   {{Kind::Convert, {0, 3}},
                    {Kind::StaticSlice, {2, 3, 4}, {{1, 0}, {2, 5}}},
                    {Kind::Convert, {4, 2}}});
  P again = chain(a, b, out, {wide, wide},
                  {{Kind::Convert, {0, 3}},
                   {Kind::StaticReshape, {2, 3, 4}, {{3, 5}}},
                   {Kind::Convert, {4, 2}}});
  P output_first = chain(a, quantized(output(1, dims)), out, {},
                         {{Kind::Multiply, {0, 0, 1}}, {Kind::Multiply, {1, 0, 2}}});
  P output_alias = chain(a, quantized(output(1, dims)), quantized(output(2, {15})), {},
                         {{Kind::Multiply, {0, 0, 1}}, {Kind::StaticReshape, {1, 1, 2}, {{15}}}});
  P selected = chain(a, a, out, {}, {{Kind::Select, {3, 0, 1, 2}}});
  selected.values[1] = quantized(input(1, dims));
  selected.values[2] = quantized(output(2, dims));
  hostile_constant(selected, {3, 1}, Datatype::Bool);
  return {
      row("BytesOfTwoSourcesAreAdded", two_sources),
      row("BytesThroughTheirOwnSigmoid", own),
      row("BytesDividedByZero", divided),
      row("BytesSlicedBeforeTheyAreQuantized", sliced),
      row("BytesReshapedBetweenConversions", again),
      row("AnOutputIsMultipliedAgain", output_first),
      row("AnOutputIsReshapedToAnother", output_alias),
      row("BytesChosenByAColumn", selected),
  };
}

std::vector<HostilePayload> moves() {
  const TestValue in = input(0, {2, 4}), out = output(1, {2, 4});
  const auto graph = [&](TestValue x, TestValue y, std::vector<TestNode> nodes,
                         std::vector<TestValue> more = {}) {
    P p;
    p.values = {std::move(x), std::move(y)};
    for (TestValue& value : more) p.values.push_back(std::move(value));
    p.nodes = std::move(nodes);
    p.constant_fill = 0x3f;
    return p;
  };
  const Datatype boolean = Datatype::Bool;
  P mask = graph(with(in, boolean), with(output(1, {4, 2, 3}), boolean),
                 {{Kind::StaticTranspose, {2, 0, 2}, {{1, 0}}},
                  {Kind::StaticReshape, {3, 2, 3}, {{4, 2, 1}}},
                  {Kind::Concatenate3, {2, 3, 3, 3, kNoId, 1}}},
                 {with(inner({4, 2}), boolean), with(inner({4, 2, 1}), boolean)});
  P compared =
      graph(in, with(output(2, {2, 4}), boolean), {{Kind::Less, {0, 2, 1}}}, {input(1, {1, 4})});
  P chosen = graph(with(in, boolean), output(2, {2, 4}), {{Kind::Select, {0, 2, 2, 1}}},
                   {input(1, {2, 1})});
  P in_place = graph(
      with(in, boolean), with(output(1, {2, 4}), boolean),
      {{Kind::Select, {0, 0, 0, 2}}, {Kind::Select, {2, 0, 2, 3}}, {Kind::Select, {3, 2, 3, 1}}},
      {with(inner({2, 4}), boolean), with(inner({2, 4}), boolean)});
  return {
      row("GatherOfTheLastPlaceOfADynamicDim",
          graph(in, out, {{Kind::StaticGather, {1, 0, 1}, {{3, 3, 3, 3}}}})),
      row("GatherOfRowsTwice",
          graph(in, output(1, {5, 4}), {{Kind::StaticGather, {0, 0, 1}, {{1, 0, 1, 1, 0}}}})),
      row("GatherAlongADimThatIsNotThere",
          graph(in, out, {{Kind::StaticGather, {2, 0, 1}, {{0, 1, 2, 3}}}}), kMisfit),
      row("GatherAlongAFarDim",
          graph(in, out, {{Kind::StaticGather, {UINT32_MAX, 0, 1}, {{0, 1, 2, 3}}}}), kMisfit),
      row("GatherOfMoreThanTheResultHas",
          graph(in, out, {{Kind::StaticGather, {1, 0, 1}, {{0, 1, 2, 3, 0}}}}), kMisfit),
      row("GatherOfAGather", graph(in, out,
                                   {{Kind::StaticGather, {1, 0, 2}, {{3, 2}}},
                                    {Kind::StaticGather, {1, 2, 1}, {{1, 1, 0, 0}}}},
                                   {inner({2, 2})})),
      row("BooleansMovedAndJoined", mask),
      row("ComparisonWithARow", compared),
      row("SelectionOfAColumn", chosen),
      row("SelectionsOfBooleansInPlace", in_place),
      row("AResultOfTwoNodes", graph(in, out, {{Kind::Copy, {0, 1}}, {Kind::Abs, {0, 1}}}),
          kMisfit),
      row("ANodeReadsItsOwnResult", graph(in, out, {{Kind::Add, {0, 1, 1}}}), kMisfit),
      row("ANodeReadsALaterResult",
          graph(in, out, {{Kind::Abs, {2, 1}}, {Kind::Abs, {0, 2}}}, {inner({2, 4})}), kMisfit),
      row("ANodeWritesAnInput", graph(in, out, {{Kind::Abs, {0, 0}}, {Kind::Abs, {0, 1}}}),
          kMisfit),
  };
}

/// A convolution of int8 whose padding is a node with a result of this scale.
HostilePayload padding(std::string name, float scale, std::string refused) {
  P p;
  p.values = {quantized(input(0, {1, 1, 1, 2})), quantized(output(1, {1, 2, 1, 3}))};
  const uint32_t filter = hostile_constant(p, {3, 1, 1, 2}, Datatype::QInt8);
  p.values[filter] = quantized(p.values[filter]);
  p.values[filter].zero_point = 0;
  p.values.push_back(quantized(inner({1, 2, 1, 2}), scale));
  p.nodes = {{Kind::StaticConstantPad, {0, 0, 3}, {{0, 1, 0, 0}, {0, 0, 0, 0}}},
             {Kind::Conv2d, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 1, 0, 0, 3, filter, kNoId, 1}}};
  return row(std::move(name), p, std::move(refused));
}

std::vector<HostilePayload> paddings() {
  return {padding("APaddingOfAConvolution", 0.5f, ""),
          padding("APaddingOfAConvolutionChangesTheScale", 2,
                  "no operator runs node StaticConstantPad")};
}

}  // namespace

std::vector<HostilePayload> hostile_fusions() {
  return joined({attentions(), bytes(), moves(), paddings()});
}

}  // namespace executorch::backends::xnnpack
