// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {
namespace {

constexpr Type F = Type::FLOAT;
constexpr Type L = Type::LONG;
constexpr Type B = Type::BOOL;
constexpr int64_t kMin = INT64_MIN;
constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kHuge = INT64_C(1) << 40;

/// An argument of a call: a tensor, a list of arguments, or another value.
struct Arg {
  TestValue value;
  bool is_output = false;
  std::vector<Arg> items = {};
};

Arg tensor_of(Type type, Sizes sizes, bool is_output) {
  TestTensor made;
  made.type = type;
  made.sizes = std::move(sizes);
  return {tensor(made), is_output};
}
/// An input, which has other sizes, and other bytes, at each execution.
Arg in(Type type, Sizes sizes) { return tensor_of(type, std::move(sizes), false); }
Arg out(Type type, Sizes sizes) { return tensor_of(type, std::move(sizes), true); }
Arg num(int64_t number) { return {integer(number)}; }
Arg dbl(double number) { return {real(number)}; }
Arg flag(bool value) { return {boolean(value)}; }
Arg nil() { return {none()}; }
Arg text(std::string value) { return {string(std::move(value))}; }
Arg all(Kind kind, std::vector<Arg> items) { return {list(kind, {}), false, std::move(items)}; }
Arg ints(const std::vector<int64_t>& numbers) {
  std::vector<Arg> items;
  for (const int64_t number : numbers) items.push_back(num(number));
  return all(Kind::IntList, std::move(items));
}
Arg tensors(std::vector<Arg> items) { return all(Kind::TensorList, std::move(items)); }
Arg optional(std::vector<Arg> items) { return all(Kind::OptionalTensorList, std::move(items)); }
Arg flags(std::vector<int64_t> items) { return {list(Kind::BoolList, std::move(items))}; }

struct Call {
  std::string name;
  std::string op;
  std::vector<Arg> arguments;
};

int32_t add(MethodWriter& w, const Arg& argument, Dynamism dynamism) {
  if (!argument.items.empty()) {
    TestValue made = argument.value;
    for (const Arg& item : argument.items) made.list.push_back(add(w, item, dynamism));
    return w.value(std::move(made));
  }
  if (argument.value.kind != Kind::Tensor) return w.value(argument.value);
  const int32_t made = w.planned(argument.value.tensor.type, argument.value.tensor.sizes, dynamism);
  return argument.is_output ? w.output(made) : w.input(made);
}

TestProgram program_of(const Call& call, Dynamism dynamism) {
  MethodWriter w;
  std::vector<int32_t> arguments;
  for (const Arg& argument : call.arguments) arguments.push_back(add(w, argument, dynamism));
  // The last argument repeats the result, as the return value.
  arguments.push_back(arguments.back());
  w.call(call.op, std::move(arguments));
  return w.finish();
}

std::vector<Call> indices() {
  const Arg wild = in(L, {2, 3});
  return {
      {"GatherOfAnyIndex",
       "aten::gather.out",
       {in(F, {4, 3}), num(0), wild, flag(false), out(F, {2, 3})}},
      {"GatherAlongADimThatIsNotThere",
       "aten::gather.out",
       {in(F, {4, 3}), num(kMin), wild, flag(false), out(F, {2, 3})}},
      {"GatherFromNothing",
       "aten::gather.out",
       {in(F, {0, 3}), num(0), wild, flag(false), out(F, {2, 3})}},
      {"GatherFromAScalar",
       "aten::gather.out",
       {in(F, {}), num(0), in(L, {}), flag(false), out(F, {})}},
      {"ScatterOfAnyIndex",
       "aten::scatter.src_out",
       {in(F, {4, 3}), num(0), wild, in(F, {2, 3}), out(F, {4, 3})}},
      {"ScatterOfASmallerSource",
       "aten::scatter.src_out",
       {in(F, {4, 3}), num(1), in(L, {4, 3}), in(F, {1, 1}), out(F, {4, 3})}},
      {"ScatterToASmallerResult",
       "aten::scatter.value_out",
       {in(F, {4, 3}), num(1), wild, num(3), out(F, {1, 1})}},
      {"ScatterAddOfAnyIndex",
       "aten::scatter_add.out",
       {in(F, {4, 3}), num(-1), wild, in(F, {2, 3}), out(F, {4, 3})}},
      {"ScatterReduceOfNoSuchReduction",
       "aten::scatter_reduce.two_out",
       {in(F, {4, 3}), num(0), wild, in(F, {2, 3}), text("none"), flag(true), out(F, {4, 3})}},
      {"IndexSelectOfAnyIndex",
       "aten::index_select.out",
       {in(F, {4, 3}), num(0), in(L, {5}), out(F, {5, 3})}},
      {"IndexSelectByAMatrix",
       "aten::index_select.out",
       {in(F, {4, 3}), num(0), wild, out(F, {6, 3})}},
      {"IndexByMoreTensorsThanDims",
       "aten::index.Tensor_out",
       {in(F, {4}), optional({in(L, {2}), in(L, {2}), in(L, {2})}), out(F, {2})}},
      {"IndexByMasksOfOtherSizes",
       "aten::index.Tensor_out",
       {in(F, {4, 3}), optional({in(B, {9}), nil()}), out(F, {4, 3})}},
      {"IndexByTensorsThatDoNotBroadcast",
       "aten::index.Tensor_out",
       {in(F, {4, 3}), optional({in(L, {2}), in(L, {3})}), out(F, {6})}},
      {"IndexPutOfAnyIndex",
       "aten::index_put.out",
       {in(F, {4, 3}), optional({in(L, {2}), in(L, {2})}), in(F, {2}), flag(true), out(F, {4, 3})}},
      {"IndexPutOfMasks",
       "aten::index_put.out",
       {in(F, {4, 3}), optional({in(B, {4, 3})}), in(F, {5}), flag(false), out(F, {4, 3})}},
      {"EmbeddingOfAnyIndex",
       "aten::embedding.out",
       {in(F, {4, 3}), wild, num(kMin), flag(false), flag(false), out(F, {2, 3, 3})}},
      {"EmbeddingOfAVector",
       "aten::embedding.out",
       {in(F, {4}), wild, num(-1), flag(false), flag(false), out(F, {2, 3})}},
      {"EmbeddingBackwardOfAnyIndex",
       "aten::embedding_dense_backward.out",
       {in(F, {2, 3, 3}), wild, num(4), num(-1), flag(true), out(F, {4, 3})}},
      {"EmbeddingBackwardOfNoWeights",
       "aten::embedding_dense_backward.out",
       {in(F, {2, 3, 3}), wild, num(-4), num(0), flag(false), out(F, {4, 3})}},
      {"BincountOfAnyNumber",
       "aten::bincount.out",
       {in(L, {4}), in(F, {4}), num(kMax), out(F, {8})}},
      {"BincountOfFewerWeights",
       "aten::bincount.out",
       {in(L, {4}), in(F, {2}), num(0), out(F, {64})}},
      {"RepeatInterleaveOfAnyCount",
       "aten::repeat_interleave.Tensor_out",
       {in(L, {4}), num(kHuge), out(L, {64})}},
      {"SearchsortedWithAnySorter",
       "aten::searchsorted.Tensor_out",
       {in(F, {4}), in(F, {3}), flag(false), flag(true), nil(), in(L, {4}), out(L, {3})}},
      {"BucketizeOfAMatrix",
       "aten::bucketize.Tensor_out",
       {in(F, {4}), in(F, {2, 2}), flag(true), flag(false), out(L, {4})}},
      {"MaskedScatterOfFewValues",
       "aten::masked_scatter.out",
       {in(F, {4, 3}), in(B, {4, 3}), in(F, {1}), out(F, {4, 3})}},
      {"MaskedSelectToASmallResult",
       "aten::masked_select.out",
       {in(F, {4, 3}), in(B, {4, 3}), out(F, {1})}},
      {"NonzeroToASmallResult", "aten::nonzero.out", {in(F, {4, 3}), out(L, {1, 2})}},
      {"MaxPoolBackwardOfAnyIndex",
       "aten::max_pool2d_with_indices_backward.grad_input",
       {in(F, {1, 1, 2, 2}), in(F, {1, 1, 4, 4}), ints({2, 2}), ints({2, 2}), ints({0, 0}),
        ints({1, 1}), flag(false), in(L, {1, 1, 2, 2}), out(F, {1, 1, 4, 4})}},
      {"AdaptiveMaxPoolBackwardOfAnyIndex",
       "aten::adaptive_max_pool2d_backward.grad_input",
       {in(F, {1, 1, 2, 2}), in(F, {1, 1, 4, 4}), in(L, {1, 1, 2, 2}), out(F, {1, 1, 4, 4})}},
      {"EmbeddingBagOfAnyOffset",
       "aten::_embedding_bag.out",
       {in(F, {4, 3}), in(L, {5}), in(L, {2}), flag(false), num(0), flag(false), nil(), flag(false),
        num(-1), out(F, {2, 3}), out(L, {5}), out(L, {2}), out(L, {2})}},
  };
}

std::vector<Call> shapes() {
  return {
      {"SelectBeyondTheEnd",
       "aten::select_copy.int_out",
       {in(F, {4, 3}), num(0), num(kMax), out(F, {3})}},
      {"SelectOfAScalar", "aten::select_copy.int_out", {in(F, {}), num(0), num(0), out(F, {})}},
      {"SliceOfExtremeNumbers",
       "aten::slice_copy.Tensor_out",
       {in(F, {4, 3}), num(0), num(kMin), num(kMax), num(kMax), out(F, {1, 3})}},
      {"SliceByNoStep",
       "aten::slice_copy.Tensor_out",
       {in(F, {4, 3}), num(0), num(3), num(-1), num(0), out(F, {4, 3})}},
      {"SliceBackwards",
       "aten::slice_copy.Tensor_out",
       {in(F, {4, 3}), num(1), num(kMax), num(kMin), num(-1), out(F, {4, 3})}},
      {"SliceScatterOfOtherSizes",
       "aten::slice_scatter.out",
       {in(F, {4, 3}), in(F, {4, 3}), num(0), num(1), num(kMax), num(2), out(F, {4, 3})}},
      {"SelectScatterBeyondTheEnd",
       "aten::select_scatter.out",
       {in(F, {4, 3}), in(F, {3}), num(0), num(-5), out(F, {4, 3})}},
      {"DiagonalOfAFarOffset",
       "aten::diagonal_copy.out",
       {in(F, {4, 3}), num(kMin), num(0), num(1), out(F, {0})}},
      {"DiagonalOfOneDimTwice",
       "aten::diagonal_copy.out",
       {in(F, {4, 4}), num(0), num(1), num(1), out(F, {4})}},
      {"DiagonalScatterOfAFarOffset",
       "aten::diagonal_scatter.out",
       {in(F, {4, 4}), in(F, {4}), num(kMax), num(0), num(1), out(F, {4, 4})}},
      {"TrilOfAFarDiagonal", "aten::tril.out", {in(F, {4, 3}), num(kMin), out(F, {4, 3})}},
      {"NarrowBeyondTheEnd",
       "aten::narrow_copy.out",
       {in(F, {4, 3}), num(0), num(3), num(kMax), out(F, {4, 3})}},
      {"SplitSizesThatWrapAround",
       "aten::split_with_sizes_copy.out",
       {in(F, {4}), ints({kMax, kMax, 6}), num(0),
        tensors({out(F, {4}), out(F, {4}), out(F, {4})})}},
      {"SplitSizesThatAreNegative",
       "aten::split_with_sizes_copy.out",
       {in(F, {4}), ints({-4, 8}), num(0), tensors({out(F, {4}), out(F, {8})})}},
      {"UnbindToFewResults",
       "aten::unbind_copy.int_out",
       {in(F, {4, 3}), num(0), tensors({out(F, {3})})}},
      {"ExpandToFewerSizes",
       "aten::expand_copy.out",
       {in(F, {4, 3}), ints({3}), flag(false), out(F, {3})}},
      {"ExpandToHugeSizes",
       "aten::expand_copy.out",
       {in(F, {1, 1}), ints({kHuge, kHuge}), flag(false), out(F, {4, 4})}},
      {"RepeatHugely", "aten::repeat.out", {in(F, {4}), ints({kMax, kMax}), out(F, {4, 4})}},
      {"RepeatNegatively", "aten::repeat.out", {in(F, {4}), ints({-1, 1}), out(F, {4, 4})}},
      {"PermuteByOneDimTwice",
       "aten::permute_copy.out",
       {in(F, {4, 3}), ints({0, 0}), out(F, {4, 3})}},
      {"PermuteByFarDims",
       "aten::permute_copy.out",
       {in(F, {4, 3}), ints({kMin, kMax}), out(F, {4, 3})}},
      {"ViewOfSizesThatOverflow",
       "aten::view_copy.out",
       {in(F, {4, 3}), ints({kHuge, kHuge, kHuge}), out(F, {2, 6, 1})}},
      {"AsStridedBeyondTheEnd",
       "aten::as_strided_copy.out",
       {in(F, {4, 3}), ints({2, 2}), ints({kHuge, 1}), num(3), out(F, {2, 2})}},
      {"AsStridedBeforeTheStart",
       "aten::as_strided_copy.out",
       {in(F, {4, 3}), ints({2, 2}), ints({-1, 1}), num(kMin), out(F, {2, 2})}},
      {"AsStridedOfOffsetsThatWrapAround",
       "aten::as_strided_copy.out",
       {in(F, {4, 3}), ints({3, 2}), ints({kMax, kMax}), num(2), out(F, {3, 2})}},
      {"AsStridedScatterBeyondTheEnd",
       "aten::as_strided_scatter.out",
       {in(F, {4, 3}), in(F, {2, 2}), ints({2, 2}), ints({11, 1}), num(1), out(F, {4, 3})}},
      {"FlipOfOneDimTwice", "aten::flip.out", {in(F, {4, 3}), ints({0, -2}), out(F, {4, 3})}},
      {"RollByExtremes",
       "aten::roll.out",
       {in(F, {4, 3}), ints({kMin, kMax}), ints({0, 1}), out(F, {4, 3})}},
      {"RollOfNothing", "aten::roll.out", {in(F, {0, 3}), ints({1}), ints({0}), out(F, {0, 3})}},
      {"StackOfOtherSizes",
       "aten::stack.out",
       {tensors({in(F, {4}), in(F, {3})}), num(1), out(F, {4, 2})}},
      {"CatOfOtherRanks",
       "aten::cat.out",
       {tensors({in(F, {4, 3}), in(F, {0}), in(F, {3})}), num(0), out(F, {5, 3})}},
      {"CatOfOtherDtypes",
       "aten::cat.out",
       {tensors({in(F, {4}), in(L, {4}), in(B, {4})}), num(-1), out(F, {12})}},
      {"UnfoldOfAnOverlongWindow",
       "aten::unfold_copy.out",
       {in(F, {4}), num(0), num(kMax), num(kMax), out(F, {1, 4})}},
      {"UnfoldByNoStep",
       "aten::unfold_copy.out",
       {in(F, {4}), num(0), num(2), num(0), out(F, {3, 2})}},
      {"PadsThatWrapAround",
       "aten::constant_pad_nd.out",
       {in(F, {4, 3}), ints({kMax, kMax}), num(0), out(F, {4, 3})}},
      {"PadsThatCutAllAway",
       "aten::constant_pad_nd.out",
       {in(F, {4, 3}), ints({-2, -2, kMin, 1}), num(0), out(F, {4, 3})}},
      {"ReflectionPadsBeyondTheInput",
       "aten::reflection_pad1d.out",
       {in(F, {2, 3}), ints({9, 9}), out(F, {2, 21})}},
      {"ReflectionPads2dBeyondTheInput",
       "aten::reflection_pad2d.out",
       {in(F, {1, 3, 3}), ints({-4, 9, 9, kMin}), out(F, {1, 9, 8})}},
      {"ReplicationPadsOfNothing",
       "aten::replication_pad2d.out",
       {in(F, {1, 0, 3}), ints({1, 1, 1, 1}), out(F, {1, 2, 5})}},
      {"FullOfHugeSizes", "aten::full.out", {ints({kHuge, kHuge}), num(1), out(F, {4, 4})}},
      {"ArangeWithoutEnd",
       "aten::arange.start_out",
       {dbl(0), dbl(1e300), dbl(1e-300), out(F, {8})}},
      {"ArangeOfNaN", "aten::arange.start_out", {dbl(0), dbl(0.0 / 1e-320), num(0), out(L, {8})}},
      {"PixelShuffleByNothing",
       "aten::pixel_shuffle.out",
       {in(F, {1, 4, 2, 2}), num(0), out(F, {1, 1, 4, 4})}},
      {"PixelShuffleByAHugeFactor",
       "aten::pixel_shuffle.out",
       {in(F, {1, 4, 2, 2}), num(INT64_C(1) << 32), out(F, {1, 1, 4, 4})}},
      {"PixelUnshuffleByANegativeFactor",
       "aten::pixel_unshuffle.out",
       {in(F, {1, 1, 4, 4}), num(-2), out(F, {1, 4, 2, 2})}},
      {"GluOfAnOddSize", "aten::glu.out", {in(F, {4, 3}), num(1), out(F, {4, 1})}},
  };
}

std::vector<Call> numbers() {
  const Arg image = in(F, {1, 2, 4, 4});
  return {
      {"ConvolutionOfNoGroups",
       "aten::convolution.out",
       {image, in(F, {2, 2, 3, 3}), nil(), ints({1, 1}), ints({1, 1}), ints({1, 1}), flag(false),
        ints({0, 0}), num(0), out(F, {1, 2, 4, 4})}},
      {"ConvolutionByNoStride",
       "aten::convolution.out",
       {image, in(F, {2, 2, 3, 3}), in(F, {2}), ints({0, 0}), ints({1, 1}), ints({1, 1}),
        flag(false), ints({0, 0}), num(1), out(F, {1, 2, 4, 4})}},
      {"ConvolutionOfHugePads",
       "aten::convolution.out",
       {image, in(F, {2, 2, 3, 3}), nil(), ints({1, 1}), ints({kMax, kHuge}), ints({kHuge, kMax}),
        flag(false), ints({0, 0}), num(1), out(F, {1, 2, 4, 4})}},
      {"ConvolutionOfAShortBias",
       "aten::convolution.out",
       {image, in(F, {2, 2, 1, 1}), in(F, {1}), ints({1}), ints({0}), ints({1}), flag(false),
        ints({0}), num(1), out(F, {1, 2, 4, 4})}},
      {"ConvolutionOfFewChannels",
       "aten::convolution.out",
       {image, in(F, {2, 1, 1, 1}), nil(), ints({1, 1}), ints({0, 0}), ints({1, 1}), flag(false),
        ints({0, 0}), num(1), out(F, {1, 2, 4, 4})}},
      {"TransposedConvolutionOfHugeOutputPads",
       "aten::convolution.out",
       {image, in(F, {2, 2, 2, 2}), nil(), ints({2, 2}), ints({0, 0}), ints({1, 1}), flag(true),
        ints({kMax, 1}), num(1), out(F, {1, 2, 8, 8})}},
      {"ConvolutionBackwardOfOtherSizes",
       "aten::convolution_backward.out",
       {in(F, {1, 2, 9, 9}), image, in(F, {2, 2, 3, 3}), ints({5}), ints({1, 1}), ints({0, 0}),
        ints({1, 1}), flag(false), ints({0, 0}), num(1), flags({1, 1, 1}), out(F, {1, 2, 4, 4}),
        out(F, {2, 2, 3, 3}), out(F, {2})}},
      {"MaxPoolOfNoWindow",
       "aten::max_pool2d_with_indices.out",
       {image, ints({0, 0}), ints({}), ints({0, 0}), ints({1, 1}), flag(true), out(F, {1, 2, 4, 4}),
        out(L, {1, 2, 4, 4})}},
      {"MaxPoolOfPadsBeyondTheWindow",
       "aten::max_pool2d_with_indices.out",
       {image, ints({2, 2}), ints({1, 1}), ints({9, 9}), ints({kMax, 1}), flag(true),
        out(F, {1, 2, 4, 4}), out(L, {1, 2, 4, 4})}},
      {"AvgPoolByNothing",
       "aten::avg_pool2d.out",
       {image, ints({2, 2}), ints({2, 2}), ints({1, 1}), flag(true), flag(true), num(0),
        out(F, {1, 2, 2, 2})}},
      {"AvgPoolOfHugeWindows",
       "aten::avg_pool1d.out",
       {in(F, {1, 2, 8}), ints({kMax}), ints({kMax}), ints({kMax}), flag(true), flag(false),
        out(F, {1, 2, 2})}},
      {"AvgPoolBackwardOfOtherSizes",
       "aten::avg_pool2d_backward.grad_input",
       {in(F, {1, 2, 9, 9}), image, ints({2, 2}), ints({1, 1}), ints({0, 0}), flag(false),
        flag(true), nil(), out(F, {1, 2, 4, 4})}},
      {"AdaptivePoolToNothing",
       "aten::_adaptive_avg_pool2d.out",
       {image, ints({-1, 0}), out(F, {1, 2, 1, 1})}},
      {"AdaptivePoolOfNothing",
       "aten::adaptive_max_pool2d.out",
       {in(F, {1, 2, 0, 4}), ints({2, 2}), out(F, {1, 2, 2, 2}), out(L, {1, 2, 2, 2})}},
      {"Im2colOfOverlongWindows",
       "aten::im2col.out",
       {image, ints({9, 9}), ints({kMax, 1}), ints({0, 0}), ints({0, 1}), out(F, {1, 18, 1})}},
      {"Col2imOfOtherSizes",
       "aten::col2im.out",
       {in(F, {1, 18, 3}), ints({kHuge, 4}), ints({3, 3}), ints({1, 1}), ints({0, 0}), ints({1, 1}),
        out(F, {1, 2, 4, 4})}},
      {"UpsampleToNegativeSizes",
       "aten::upsample_nearest2d.out",
       {image, ints({-1, 8}), dbl(2), dbl(2), out(F, {1, 2, 8, 8})}},
      {"UpsampleByScalesThatLie",
       "aten::upsample_bilinear2d.out",
       {image, ints({8, 8}), flag(false), dbl(1e-30), dbl(-1e30), out(F, {1, 2, 8, 8})}},
      {"UpsampleOfNothing",
       "aten::upsample_nearest1d.out",
       {in(F, {1, 2, 0}), ints({8}), nil(), out(F, {1, 2, 8})}},
      {"GridSamplerOfAnyGrid",
       "aten::grid_sampler_2d.out",
       {image, in(F, {1, 3, 3, 2}), num(0), num(0), flag(true), out(F, {1, 2, 3, 3})}},
      {"GridSamplerOfNoSuchMode",
       "aten::grid_sampler_2d.out",
       {image, in(F, {1, 3, 3, 2}), num(kMax), num(kMin), flag(false), out(F, {1, 2, 3, 3})}},
      {"GridSamplerReflectsAnyGrid",
       "aten::grid_sampler_3d.out",
       {in(F, {1, 1, 2, 2, 2}), in(F, {1, 2, 2, 2, 3}), num(1), num(2), flag(false),
        out(F, {1, 1, 2, 2, 2})}},
      {"TopkOfMoreThanThereAre",
       "aten::topk.values",
       {in(F, {4}), num(9), num(0), flag(true), flag(true), out(F, {9}), out(L, {9})}},
      {"TopkOfNegatives",
       "aten::topk.values",
       {in(F, {4}), num(kMin), num(0), flag(true), flag(true), out(F, {4}), out(L, {4})}},
      {"KthvalueOfNone",
       "aten::kthvalue.values",
       {in(F, {4}), num(0), num(0), flag(false), out(F, {}), out(L, {})}},
      {"SortAlongAFarDim",
       "aten::sort.values",
       {in(F, {4, 3}), num(kMax), flag(false), out(F, {4, 3}), out(L, {4, 3})}},
      {"CumsumOfAScalar", "aten::cumsum.out", {in(F, {}), num(-1), nil(), out(F, {})}},
      {"CumsumToNoSuchDtype", "aten::cumsum.out", {in(F, {4}), num(0), num(kMax), out(F, {4})}},
      {"ArgmaxOfNothing", "aten::argmax.out", {in(F, {0, 3}), num(0), flag(false), out(L, {3})}},
      {"AnyOfOneDimTwice",
       "aten::any.dims_out",
       {in(B, {4, 3}), ints({1, -1}), flag(true), out(B, {4, 1})}},
      {"VarOfAHugeCorrection",
       "aten::var.correction_out",
       {in(F, {4, 3}), ints({0}), dbl(1e308), flag(false), out(F, {3})}},
      {"HistcOfManyBins", "aten::histc.out", {in(F, {4}), num(kMax), num(0), num(0), out(F, {4})}},
      {"LayerNormOfOtherShapes",
       "aten::native_layer_norm.out",
       {in(F, {4, 3}), ints({12}), in(F, {3}), in(F, {1}), dbl(0), out(F, {4, 3}), out(F, {4, 1}),
        out(F, {4, 1})}},
      {"LayerNormOfMoreDims",
       "aten::native_layer_norm.out",
       {in(F, {3}), ints({4, 3}), nil(), nil(), dbl(-1), out(F, {3}), out(F, {1}), out(F, {1})}},
      {"GroupNormOfNoGroups",
       "aten::native_group_norm.out",
       {image, in(F, {2}), in(F, {2}), num(1), num(2), num(16), num(0), dbl(1e-5),
        out(F, {1, 2, 4, 4}), out(F, {1, 1}), out(F, {1, 1})}},
      {"GroupNormOfSizesThatLie",
       "aten::native_group_norm.out",
       {image, in(F, {2}), in(F, {2}), num(kHuge), num(64), num(kMax), num(2), dbl(1e-5),
        out(F, {1, 2, 4, 4}), out(F, {1, 2}), out(F, {1, 2})}},
      {"BatchNormOfShortStatistics",
       "aten::_native_batch_norm_legit_no_training.out",
       {image, in(F, {2}), in(F, {2}), in(F, {1}), in(F, {1}), dbl(0.1), dbl(1e-5),
        out(F, {1, 2, 4, 4}), out(F, {0}), out(F, {0})}},
      {"MatricesThatDoNotFit", "aten::mm.out", {in(F, {4, 3}), in(F, {2, 4}), out(F, {4, 4})}},
      {"BatchesThatDoNotFit",
       "aten::bmm.out",
       {in(F, {2, 4, 3}), in(F, {3, 3, 4}), out(F, {2, 4, 4})}},
      {"AddmmOfNothing",
       "aten::addmm.out",
       {in(F, {4, 4}), in(F, {4, 0}), in(F, {0, 4}), num(1), num(1), out(F, {4, 4})}},
      {"LinearOfAShortBias",
       "aten::linear.out",
       {in(F, {4, 3}), in(F, {5, 3}), in(F, {2}), out(F, {4, 5})}},
      {"CdistOfOtherWidths",
       "aten::_cdist_forward.out",
       {in(F, {4, 3}), in(F, {4, 2}), dbl(2), nil(), out(F, {4, 4})}},
      {"UniqueToSmallResults",
       "aten::unique_consecutive.out",
       {in(L, {6}), flag(true), flag(true), nil(), out(L, {1}), out(L, {1}), out(L, {1})}},
      {"LstmOfFewParameters",
       "recurrent::lstm.out",
       {in(F, {2, 1, 3}), tensors({in(F, {1, 1, 2}), in(F, {1, 1, 2})}),
        tensors({in(F, {8, 3}), in(F, {8, 2})}), flag(true), num(1), flag(false), flag(false),
        out(F, {2, 1, 2}), out(F, {1, 1, 2}), out(F, {1, 1, 2})}},
      {"GruOfManyLayers",
       "recurrent::gru.out",
       {in(F, {2, 1, 3}), in(F, {1, 1, 2}), tensors({in(F, {6, 3}), in(F, {6, 2})}), flag(false),
        num(kHuge), flag(true), flag(false), out(F, {2, 1, 2}), out(F, {1, 1, 2})}},
  };
}

}  // namespace

std::vector<HostileProgram> hostile_calls() {
  std::vector<HostileProgram> rows;
  for (const auto& calls : {indices(), shapes(), numbers()}) {
    for (const Call& call : calls) {
      rows.push_back({call.name, [call] { return program_of(call, Dynamism::STATIC); }, ""});
      // Inputs of all sizes, results that are resized.
      rows.push_back({call.name + "AtSizesThatVary",
                      [call] { return program_of(call, Dynamism::DYNAMIC_BOUND); }, ""});
    }
  }
  return rows;
}

}  // namespace executorch::testing
