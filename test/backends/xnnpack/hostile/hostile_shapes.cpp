// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>

namespace executorch::backends::xnnpack {
namespace {

using Rows = std::vector<HostilePayload>;
using P = TestPayload;
constexpr uint32_t kMax = UINT32_MAX;
constexpr uint32_t kHalf = 0x80000000u;
constexpr const char* kEmpty = "is a constant without elements";
constexpr const char* kStrides = "expected a product of at most 65536";
constexpr const char* kPacked = "because strides are wider than windows or several nodes share";

/// A graph of one node, with input 0 of sizes `in`, output 1 of sizes `out`, and constants with 4
/// bytes for each element.
P graph(Dims in, Dims out, TestNode node, const std::vector<Dims>& constants = {}) {
  P p;
  p.values = {input(0, std::move(in)), output(1, std::move(out))};
  p.constant_fill = 0x3f;
  for (const Dims& dims : constants) {
    uint64_t bytes = 4;
    for (const uint32_t dim : dims) bytes *= dim;
    p.values.push_back(constant(static_cast<uint32_t>(p.constants.size()), dims));
    p.constants.push_back({p.constant_bytes, bytes, ""});
    p.constant_bytes += bytes;
  }
  p.nodes = {std::move(node)};
  return p;
}

std::vector<uint32_t> squares(uint32_t padding, uint32_t kernel, uint32_t stride, uint32_t dilation,
                              std::vector<uint32_t> rest) {
  return window({padding, padding, padding, padding}, {kernel, kernel}, {stride, stride},
                {dilation, dilation}, std::move(rest));
}

/// Constants without elements reach operators that inputs without elements cannot.
Rows empty_constants() {
  const Dims image = {1, 0, 4, 2};
  return {
      row("ResizeOfAnEmptyImage",
          graph({1, 2, 2, 2}, {1, 2, 2, 2}, {Kind::StaticResizeBilinear2D, {2, 2, 2, 1}}, {image}),
          kEmpty),
      row("ResizeOfAnImageWithoutPixels",
          graph({1, 2, 2, 2}, {1, 2, 2, 2}, {Kind::StaticResizeBilinear2D, {2, 2, 2, 1, 8}},
                {{1, 0, 0, 2}}),
          kEmpty),
      row("PadOfNothing",
          graph({1, 4}, {2, 4}, {Kind::StaticConstantPad, {0, 2, 1}, {{1, 0}, {1, 0}}}, {{0, 4}}),
          kEmpty),
      row("ConcatenationWithNothing",
          graph({2, 4}, {2, 4}, {Kind::Concatenate2, {0, 0, 2, kNoId, kNoId, 1}}, {{0, 4}}),
          kEmpty),
      row("ConcatenationOfNothingAndRows",
          graph({2, 4}, {2, 4}, {Kind::Concatenate3, {0, 2, 0, 2, kNoId, 1}}, {{0, 4}}), kEmpty),
      row("ProductOverNothing",
          graph({2, 1}, {2, 3}, {Kind::FullyConnected, {2, 3, kNoId, 1}}, {{2, 0}, {3, 0}}),
          kEmpty),
      row("BatchProductOverNothing",
          graph({1, 2, 3}, {1, 2, 3}, {Kind::BatchMatrixMultiply, {2, 3, 1}},
                {{1, 2, 0}, {1, 0, 3}}),
          kEmpty),
      row("BatchProductOfNothingByAnInput",
          graph({1, 4, 3}, {1, 2, 3}, {Kind::BatchMatrixMultiply, {2, 0, 1}}, {{0, 2, 4}}), kEmpty),
      row("MeanOfAnEmptyImage", graph({1, 2}, {1, 2}, {Kind::GlobalAvgPooling2d, {2, 1}}, {image}),
          kEmpty),
      row("SumOfAnEmptyImage",
          graph({1, 1, 1, 2}, {1, 1, 1, 2}, {Kind::Sum, {2, 1, kKeep}}, {image}), kEmpty),
      row("ConvolutionOfPaddingAlone",
          graph({1, 2, 2, 2}, {1, 3, 7, 3},
                {Kind::Conv2d, squares(2, 2, 1, 1, {2, 3, 1, 0, 0, 2, 3, kNoId, 1})},
                {image, {3, 2, 2, 2}}),
          kEmpty),
      row("ConvolutionOfNoChannels",
          graph({1, 2, 2, 2}, {1, 4, 4, 3},
                {Kind::Conv2d, squares(0, 1, 1, 1, {0, 3, 1, 0, 0, 2, 3, kNoId, 1})},
                {{1, 4, 4, 0}, {3, 1, 1, 0}}),
          kEmpty),
      row("TransposedConvolutionOfNoChannelsAndAHugeWindow",
          graph({1, 2, 2, 2}, {1, 64, 64, 1},
                {Kind::ConvTranspose2d, window({0, 0, 0, 0}, {1u << 30, 1}, {kMax, kMax},
                                               {kMax, kMax}, {0, 1, 1, 0, 0, 2, 3, kNoId, 1})},
                {{1, 4, 4, 0}, {1, 1u << 30, 1, 0}}),
          kEmpty),
      row("AverageOfPaddingAlone",
          graph({1, 2, 2, 2}, {1, 1, 5, 2}, {Kind::AvgPooling2d, squares(1, 2, 1, 1, {2, 1})},
                {image}),
          kEmpty),
      row("MaximumOfPaddingAlone",
          graph({1, 2, 2, 2}, {1, 1, 5, 2}, {Kind::MaxPooling2d, squares(1, 2, 1, 1, {2, 1})},
                {image}),
          kEmpty),
      row("AttentionOverNoKeys",
          graph({1, 1, 2, 4}, {1, 1, 2, 4}, {Kind::ScaledDotProductAttention, {0, 2, 3, 4, 5, 1}},
                {{1, 1, 0, 4}, {1, 1, 0, 4}, {4}, {2, 0}}),
          kEmpty),
      row("ABiasWithoutElements",
          graph({2, 4}, {2, 3}, {Kind::FullyConnected, {0, 2, 3, 1}}, {{3, 4}, {0}}), kEmpty),
      row("SlopesWithoutElements", graph({2, 4}, {2, 4}, {Kind::PReLU, {0, 2, 1}}, {{0}}), kEmpty),
  };
}

Rows windows() {
  const auto convolution = [](Dims out, std::vector<uint32_t> numbers) {
    return graph({1, 4, 4, 2}, std::move(out), {Kind::Conv2d, std::move(numbers)}, {{3, 1, 1, 2}});
  };
  const std::vector<uint32_t> rest = {2, 3, 1, 0, 0, 0, 2, kNoId, 1};
  return {
      row("ConvolutionOfHugePadsAndStrides",
          convolution({1, 3, 3, 3}, squares(kHalf, 1, kHalf, 1, rest)), kMisfit),
      row("ConvolutionOfTheLargestPadsAndStrides",
          convolution({1, 4, 4, 3}, squares(kMax, 1, kMax, 1, rest)), kMisfit),
      row("ConvolutionOfTheLargestDilation",
          convolution({1, 4, 4, 3}, squares(0, 1, 1, kMax, rest))),
      row("ConvolutionOfPadsBeforeAlone",
          convolution({1, 4, 2, 3}, window({kMax, 0, 0, kMax}, {1, 1}, {kMax, kMax}, {1, 1}, rest)),
          kMisfit),
      row("ConvolutionOfAsManyGroupsAsWrapAround",
          graph({1, 4, 4, 2}, {1, 4, 4, 3},
                {Kind::Conv2d, squares(0, 1, 1, 1, {kHalf, 3, 4, 0, 0, 0, 2, kNoId, 1})},
                {{3, 1, 1, 2}}),
          kMisfit),
      row("DepthwiseConvolutionOfManyOutputsAChannel",
          graph({1, 4, 4, 2}, {1, 4, 4, 64},
                {Kind::DepthwiseConv2d, squares(1, 3, 1, 1, {1, 32, 2, 0, 0, 0, 2, kNoId, 1})},
                {{1, 3, 3, 64}})),
      row("TransposedConvolutionOfHugePads",
          graph({1, 4, 4, 2}, {1, 4, 4, 3},
                {Kind::ConvTranspose2d, squares(kHalf, 1, kHalf, 1, rest)}, {{3, 1, 1, 2}}),
          kStrides),
      row("TransposedConvolutionOfAStrideAsWideAsTheWindow",
          graph({1, 1, 1, 1}, {1, 1, 1u << 16, 1},
                {Kind::ConvTranspose2d, window({0, 0, 0, 0}, {1, 1u << 16}, {1, 1u << 16}, {1, 1},
                                               {1, 1, 1, 0, 0, 0, 2, kNoId, 1})},
                {{1, 1, 1u << 16, 1}})),
      row("TransposedConvolutionOfManyGroupsAndWideStrides",
          graph({1, 1, 1, 64}, {1, 256, 256, 64},
                {Kind::ConvTranspose2d, window({0, 0, 0, 0}, {1, 1}, {256, 256}, {1, 1},
                                               {1, 1, 64, 255, 255, 0, 2, kNoId, 1})},
                {{64, 1, 1, 1}}),
          kPacked),
      row("TransposedConvolutionOfManyGroupsAndNarrowStrides",
          graph({1, 2, 2, 64}, {1, 4, 4, 64},
                {Kind::ConvTranspose2d,
                 window({0, 0, 0, 0}, {2, 2}, {2, 2}, {1, 1}, {1, 1, 64, 0, 0, 0, 2, kNoId, 1})},
                {{64, 2, 2, 1}})),
      row("TransposedConvolutionOfHugeAdjustments",
          graph({1, 1, 1, 2}, {1, 64, 64, 3},
                {Kind::ConvTranspose2d, squares(0, 1, kMax, 1, {2, 3, 1, 63, 63, 0, 2, kNoId, 1})},
                {{3, 1, 1, 2}}),
          kStrides),
      row("MaximumOfTheLargestDilation",
          graph({1, 4, 4, 2}, {1, 4, 4, 2}, {Kind::MaxPooling2d, squares(0, 1, 1, kMax, {0, 1})})),
      row("MaximumOfAHugeStride",
          graph({1, 4, 4, 2}, {1, 1, 1, 2}, {Kind::MaxPooling2d, squares(0, 2, kMax, 1, {0, 1})})),
      row("AverageOfAHugeWindow",
          graph({1, 4, 4, 2}, {1, 1, 1, 2},
                {Kind::AvgPooling2d, squares(kHalf - 2, kMax, 1, 1, {0, 1})}),
          kMisfit),
      row("MaximumOfTheSameSizeByAHugeWindow",
          graph({1, 4, 4, 2}, {1, 1, 1, 2},
                {Kind::MaxPooling2d, squares(0, 1u << 20, 4, 1, {0, 1, kSame})})),
      row("ArgMaxOfMoreThanTheImage",
          graph({1, 4, 4, 2}, {1, 1, 1, 2},
                {Kind::ArgMaxPooling2d, {kHalf, kHalf, kHalf, kHalf, kMax, kMax, 0, 1, 1}}),
          kMisfit),
  };
}

/// Layers whose weights are arguments, which may be smaller than declared.
Rows variable_weights() {
  const auto layer = [](std::string name, uint32_t flags, bool has_bias) {
    P p;
    p.values = {input(0, {2, 32}), input(1, flags == 0 ? Dims{64, 32} : Dims{32, 64}),
                output(2, {2, 64})};
    p.nodes = {{Kind::FullyConnected, {0, 1, kNoId, 2, flags}}};
    if (has_bias) {
      p.values.push_back(constant(1, {64}));
      p.constants.push_back({0, 256, ""});
      p.constant_bytes = 256;
      p.nodes[0].numbers[2] = 3;
    }
    return row(std::move(name), p);
  };
  return {
      layer("VariableWeights", 0, false),
      layer("VariableTransposedWeights", 1, false),
      layer("VariableWeightsWithABias", 0, true),
      row("APaddingAndAConvolutionsWrapAround",
          [] {
            P p = graph({1, 1, 1, 2}, {1, 2, 1, 3},
                        {Kind::StaticConstantPad, {0, 0, 3}, {{0, 1, 0, 0}, {0, 0, 0, 0}}},
                        {{3, 1, 1, 2}});
            p.values.push_back({});
            p.values[3].dims = {1, 2, 1, 2};
            p.nodes.push_back({Kind::Conv2d, window({kMax, 0, 0, 0}, {1, 1}, {kMax, 1}, {1, 1},
                                                    {2, 3, 1, 0, 0, 3, 2, kNoId, 1})});
            return p;
          }()),
  };
}

Rows moves() {
  return {
      row("ASliceBeginsAtTheEnd",
          graph({2, 4}, {2, 1}, {Kind::StaticSlice, {2, 0, 1}, {{0, 4}, {0, 0}}}), kMisfit),
      row("ASliceWrapsAround",
          graph({2, 4}, {2, 1}, {Kind::StaticSlice, {2, 0, 1}, {{0, kMax}, {0, 2}}}), kMisfit),
      row("PadsThatWrapAround",
          graph({2, 4}, {2, 3}, {Kind::StaticConstantPad, {0, 0, 1}, {{0, kMax}, {0, 0}}}),
          kMisfit),
      row("AReshapeKeepsAMissingSize",
          graph({2, 4}, {2, 4, 1, 1}, {Kind::StaticReshape, {4, 0, 1}, {{2, 4, 0, 0}}}), kMisfit),
      row("AReshapeKeepsAndWrapsAround",
          graph({2, 4}, {2, 4, 1}, {Kind::StaticReshape, {3, 0, 1}, {{0, 0, kHalf}}}), kMisfit),
      row("AReshapeWrapsAround",
          graph({2, 4}, {2, 4}, {Kind::StaticReshape, {2, 0, 1}, {{kHalf, kHalf}}}), kMisfit),
      row("AReshapeHasMoreDimsThanItCounts",
          graph({2, 4}, {2, 4}, {Kind::StaticReshape, {1, 0, 1}, {{2, 4}}}), kMisfit),
      row("ATransposeCountsOtherDims",
          graph({2, 4}, {4, 2}, {Kind::StaticTranspose, {3, 0, 1}, {{1, 0}}}), kMisfit),
      row("AConcatenationAlongNoDim",
          graph({2, 4}, {4, 4}, {Kind::Concatenate2, {kMax, 0, 0, kNoId, kNoId, 1}}), kMisfit),
      row("OneOperandFiveTimes",
          graph({2, 4}, {10, 4}, {Kind::Concatenate5, {0, 0, 0, 0, 0, 1, 0, 0}})),
      row("AResizeToOnePixelWithAlignedCorners",
          graph({1, 1, 1, 2}, {1, 1, 64, 2}, {Kind::StaticResizeBilinear2D, {1, 64, 0, 1, 8}})),
      row(
          "AValueIsReadBeforeItIsMade",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {2, 1}});
            p.values.push_back({});
            p.nodes.push_back({Kind::Tanh, {0, 2}});
            return p;
          }(),
          kMisfit),
      row(
          "AValueIsMadeTwice",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {0, 1}});
            p.nodes.push_back({Kind::Abs, {0, 1}});
            return p;
          }(),
          kMisfit),
      row(
          "AnInputIsMade",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {0, 1}});
            p.nodes.push_back({Kind::Abs, {1, 0}});
            return p;
          }(),
          kMisfit),
      row(
          "AnOutputIsNeverMade",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {0, 1}});
            p.nodes.clear();
            return p;
          }(),
          "output 0 is never computed"),
      row("AnUnneededNodeHasNoMemory",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {0, 1}});
            p.values.push_back({});
            p.nodes.push_back({Kind::Exp, {1, 2}});
            return p;
          }()),
      row("AnOutputIsReadAgain",
          [] {
            P p = graph({2, 4}, {2, 4}, {Kind::Tanh, {0, 1}});
            p.values.push_back(output(2, {2, 4}));
            p.nodes.push_back({Kind::Copy, {1, 2}});
            return p;
          }()),
      row("AnOutputIsACopyOfTheInput", graph({2, 4}, {2, 4}, {Kind::Copy, {0, 1}})),
  };
}

}  // namespace

std::vector<HostilePayload> hostile_shapes() {
  Rows rows = empty_constants();
  for (const auto& more : {windows(), variable_weights(), moves()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace executorch::backends::xnnpack
