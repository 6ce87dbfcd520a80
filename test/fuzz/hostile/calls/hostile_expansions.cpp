// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Small operands that stand for many elements: broadcasts along many dimensions, batches of empty
// matrices, windows and phases without taps.
#include "fuzz/hostile/calls/hostile_call.h"

namespace executorch::testing {
namespace {

using namespace calls;

constexpr Type C = Type::CHAR;
constexpr int32_t kRows = 1 << 30;
constexpr int32_t kMaxRank = 16;

/// Sizes of 1, but for dimension `dim`.
Sizes along(int32_t rank, int32_t dim, int32_t size) {
  Sizes sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(dim)] = size;
  return sizes;
}

/// An index tensor for each of `count` dimensions, each along a dimension of its own.
Arg crossed(int32_t count, int32_t size) {
  std::vector<Arg> items;
  for (int32_t d = 0; d < count; ++d) items.push_back(blank(L, along(count, d, size)));
  return optional(std::move(items));
}

std::vector<Call> indices() {
  const Arg number = in(F, Sizes(kMaxRank, 1)), result = out(F, Sizes(kMaxRank, 1));
  const Arg matrix = in(F, {1, 1}), no = flag(false);
  const Sizes side = {1 << 16, 1}, across = {1, 1 << 16};
  const Arg pairs = optional({blank(L, side), blank(L, across)});
  Arg with_mask = crossed(kMaxRank, 16);
  with_mask.items[3] = blank(B, {1});
  return {
      {"IndexOf2To64Elements", "aten::index.Tensor_out", {number, crossed(kMaxRank, 16), result}},
      {"IndexOf2To48Elements", "aten::index.Tensor_out", {number, crossed(kMaxRank, 8), result}},
      {"IndexOf2To63Elements",
       "aten::index.Tensor_out",
       {in(F, Sizes(9, 1)), crossed(9, 128), out(F, Sizes(9, 1))}},
      {"IndexOfMoreThan2To64Elements",
       "aten::index.Tensor_out",
       {number, crossed(kMaxRank, 19), result}},
      {"IndexByAMaskAndManyTensors", "aten::index.Tensor_out", {number, with_mask, result}},
      {"IndexPutOf2To64Elements",
       "aten::index_put.out",
       {number, crossed(kMaxRank, 16), in(F, {1}), flag(true), result}},
      {"IndexPutOfMoreThan2To64Elements",
       "aten::index_put.out",
       {number, crossed(kMaxRank, 19), in(F, {}), no, result}},
      {"IndexPutOfRowsOf2To60Elements",
       "aten::index_put.out",
       {in(F, {1, 1, 1, 1, 1, 64}), crossed(5, 4096), in(F, {1}), no, out(F, {1, 1, 1, 1, 1, 64})}},
      {"IndexOf2To32Pairs", "aten::index.Tensor_out", {matrix, pairs, out(F, {4, 4})}},
      {"IndexOf2To32PairsOfNothing",
       "aten::index.Tensor_out",
       {in(F, {1, 1, 0}), pairs, out(F, {1 << 16, 1 << 16, 0})}},
      {"IndexPutOf2To32PairsOfNothing",
       "aten::index_put.out",
       {in(F, {1, 1, 0}), pairs, in(F, {0}), no, out(F, {1, 1, 0})}},
      {"ScaledEmbeddingGradientOfManyEmptyRows",
       "aten::embedding_dense_backward.out",
       {in(F, {2, 0}), blank(L, {2}), num(kRows), num(-1), flag(true), out(F, {kRows, 0})}},
  };
}

std::vector<Call> broadcasts() {
  const Sizes side = {1 << 16, 1}, across = {1, 1 << 16};
  const Arg column = in(F, side), row = in(F, across), small = out(F, {4});
  const Arg nothing = blank(B, across), result = out(F, {8, 8}), zero = num(0), one = num(1);
  return {
      {"MaskedSelectOfNothingIn2To32Pairs", "aten::masked_select.out", {column, nothing, small}},
      {"MaskedSelectByANumberOfNothing", "aten::masked_select.out", {column, blank(B, {}), small}},
      {"MaskedScatterTo2To32Pairs",
       "aten::masked_scatter.out",
       {column, nothing, in(F, {1}), result}},
      {"MaskedFillOf2To32Pairs",
       "aten::masked_fill.Scalar_out",
       {column, nothing, dbl(1e30), result}},
      {"AddOf2To32Pairs", "aten::add.out", {column, row, one, result}},
      {"WhereOf2To32Pairs", "aten::where.self_out", {nothing, column, row, result}},
      {"AddcmulOf2To32Pairs", "aten::addcmul.out", {column, row, row, one, result}},
      {"ComplexOf2To32Pairs",
       "aten::complex.out",
       {column, row, out(static_cast<Type>(9), {8, 8})}},
      {"DistancesOf2To32Pairs",
       "aten::_cdist_forward.out",
       {column, in(F, side), dbl(2), nil(), result}},
      {"ExpandTo2To60Elements",
       "aten::expand_copy.out",
       {in(F, {1}), ints({1 << 20, 1 << 20, 1 << 20}), flag(false), out(F, {1, 1, 1})}},
      {"RepeatTo2To60Elements",
       "aten::repeat.out",
       {in(F, {1}), ints({1 << 20, 1 << 20, 1 << 20}), out(F, {1, 1, 1})}},
      {"FullOf2To60Elements",
       "aten::full.out",
       {ints({1 << 20, 1 << 20, 1 << 20}), zero, out(F, {1, 1, 1})}},
      {"StridedTo2To60Elements",
       "aten::as_strided_copy.out",
       {in(F, {1}), ints({1 << 20, 1 << 20, 1 << 20}), ints({0, 0, 0}), zero, out(F, {1, 1, 1})}},
  };
}

std::vector<Call> matrices() {
  const Sizes empty = {kRows, 0, 0};
  const Arg zero = num(0), one = num(1);
  const auto product = [&](std::string name, Type type) -> Call {
    return {std::move(name), "aten::bmm.out", {in(type, empty), in(type, empty), out(type, empty)}};
  };
  return {
      product("BmmOfManyEmptyMatrices", F),
      product("BmmOfManyEmptyMatricesOfIntegers", L),
      product("BmmOfManyEmptyMatricesOfDoubles", Type::DOUBLE),
      product("BmmOfManyEmptyMatricesOfHalves", Type::HALF),
      product("BmmOfManyEmptyMatricesOfComplexNumbers", static_cast<Type>(9)),
      {"BmmOfManyRowsAndNoColumns",
       "aten::bmm.out",
       {in(F, {kRows, 0, 3}), in(F, {kRows, 3, 0}), out(F, empty)}},
      {"BaddbmmOfManyEmptyMatrices",
       "aten::baddbmm.out",
       {in(F, {1, 1, 1}), in(F, empty), in(F, empty), dbl(2), dbl(3), out(F, empty)}},
      {"LinearOfManyRowsWithoutOutputs",
       "aten::linear.out",
       {in(F, {4, kRows, 0}), in(F, {0, 0}), in(F, {0}), out(F, {4, kRows, 0})}},
      {"LinearOfManyRowsOfIntegersWithoutOutputs",
       "aten::linear.out",
       {in(L, {4, kRows, 0}), in(L, {0, 0}), nil(), out(L, {4, kRows, 0})}},
      {"LayerNormGradientOfNoRows",
       "aten::native_layer_norm_backward.out",
       {in(F, {0, kRows}), in(F, {0, kRows}), ints({kRows}), in(F, {0, 1}), in(F, {0, 1}), nil(),
        nil(), flags({1, 0, 0}), out(F, {0, kRows}), out(F, {1}), out(F, {1})}},
      {"GroupNormGradientOfNoImages",
       "aten::native_group_norm_backward.out",
       {in(F, {0, kRows, 1}), in(F, {0, kRows, 1}), in(F, {0, 1}), in(F, {0, 1}), nil(), zero,
        num(kRows), one, one, flags({1, 0, 0}), out(F, {0, kRows, 1}), out(F, {1}), out(F, {1})}},
  };
}

std::vector<Call> sequences() {
  const Arg zero = num(0), one = num(1), no = flag(false);
  const Arg steps = in(F, {kRows, 0, 3}), state = in(F, {1, 0, 2}), states = out(F, {kRows, 0, 2});
  const auto weights = [](int32_t gates) {
    return tensors({in(F, {2 * gates, 3}), in(F, {2 * gates, 2})});
  };
  return {
      {"GruOfAnEmptyBatch",
       "recurrent::gru.out",
       {steps, state, weights(3), no, one, no, no, states, out(F, {1, 0, 2})}},
      {"RnnOfAnEmptyBatch",
       "recurrent::rnn_tanh.out",
       {steps, state, weights(1), no, one, no, no, states, out(F, {1, 0, 2})}},
      {"LstmOfAnEmptyBatch",
       "recurrent::lstm.out",
       {steps, tensors({state, state}), weights(4), no, one, no, no, states, out(F, {1, 0, 2}),
        out(F, {1, 0, 2})}},
      {"LstmOfAnEmptyBatchThatComesFirst",
       "recurrent::lstm.out",
       {in(F, {0, kRows / 2, 3}), tensors({state, state}), weights(4), no, one, no, flag(true),
        out(F, {0, kRows / 2, 2}), out(F, {1, 0, 2}), out(F, {1, 0, 2})}},
  };
}

std::vector<Call> windows() {
  constexpr int32_t kTaps = 1 << 15, kInputs = 1 << 14, kPlaces = 1 << 14;
  const Arg zero = num(0), one = num(1), ones = ints({1, 1}), zeros = ints({0, 0});
  const auto fold = [&](std::string name, int32_t windows, int64_t dilation, int64_t padding,
                        int64_t stride) -> Call {
    return {std::move(name),
            "aten::col2im.out",
            {in(F, {kTaps, windows}), ints({1, kTaps}), ints({1, kTaps}), ints({1, dilation}),
             ints({0, padding}), ints({1, stride}), out(F, {1, 1, kTaps})}};
  };
  return {
      fold("Col2imOfOneWindowOfManyTaps", 1, 1, 0, 1),
      fold("Col2imOfOneWindowAndAWideStride", 1, 1, 0, kRows),
      fold("Col2imOfAWindowInThePadding", 2, 1, kTaps / 2, kTaps),
      fold("Col2imOfADilatedWindow", 3, 3, kTaps, 5),
      {"QuantizedTransposedConvolutionOfManyPlacesWithoutTaps",
       "quantized_fused::transposed_convolution.out",
       {in(C, {1, kInputs, 1, 1}), zero, in(C, {kInputs, 1, 1, 1}), in(F, {1}), in(F, {1}),
        ints({1, kPlaces}), zeros, ones, ints({0, kPlaces - 1}), one, zero, num(-128), num(127),
        out(C, {1, 1, 1, kPlaces})}},
  };
}

}  // namespace

std::vector<HostileProgram> hostile_expansions() {
  std::vector<HostileProgram> rows;
  for (const auto& calls : {indices(), broadcasts(), matrices(), sequences(), windows()}) {
    add_rows(calls, &rows);
  }
  return rows;
}

}  // namespace executorch::testing
