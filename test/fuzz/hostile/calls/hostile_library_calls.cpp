// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/hostile/calls/hostile_call.h"

namespace executorch::testing {

using namespace calls;

namespace {

constexpr Type C = Type::CHAR;
constexpr Type U = Type::BYTE;
constexpr Type I = Type::INT;
/// complex64; the schema does not name it.
[[maybe_unused]] constexpr Type kComplex = static_cast<Type>(9);
[[maybe_unused]] constexpr int32_t kWide = 1 << 30;

[[maybe_unused]] Call sdpa(std::string name, Arg query, const Arg& key, int64_t start, Arg mask,
                           Arg scale = nil()) {
  Arg result = query;
  result.is_output = true;
  return {std::move(name),
          "llama::custom_sdpa.out",
          {std::move(query), key, key, num(start), std::move(mask), dbl(0), flag(false),
           std::move(scale), std::move(result)}};
}

[[maybe_unused]] Call quantized_sdpa(std::string name, const Arg& zero_points, const Arg& scales,
                                     bool is_transposed = false) {
  const Arg query = in(C, {1, 2, 4, 8}), key = in(C, {1, 6, 2, 8});
  const Arg key_zero_points = in(C, {1, 6, 2, 1}), key_scales = in(F, {1, 6, 2, 1});
  return {std::move(name),
          "llama::custom_quantized_sdpa.out",
          {query, key, key, num(1), nil(), dbl(0), flag(true), nil(), zero_points, scales,
           key_zero_points, key_scales, key_zero_points, key_scales, flag(is_transposed),
           out(F, {1, 2, 4, 8})}};
}

[[maybe_unused]] Call sdpa_with_cache(std::string name, const Arg& value, const Arg& cache,
                                      int64_t start, int64_t length) {
  return {std::move(name),
          "llama::sdpa_with_kv_cache.out",
          {in(F, {1, 2, 4, 8}), value, value, cache, cache, num(start), num(length), nil(), dbl(0),
           flag(true), nil(), out(F, {1, 2, 4, 8})}};
}

[[maybe_unused]] Call update(std::string name, const Arg& value, const Arg& cache, int64_t start) {
  return {std::move(name), "llama::update_cache.out", {value, cache, num(start), out(F, {1})}};
}

[[maybe_unused]] Call update_at(std::string name, const Arg& indices) {
  return {std::move(name),
          "llama::update_cache_with_indices.out",
          {in(F, {2, 3, 2, 4}), in(F, {2, 8, 2, 4}), num(0), indices, out(F, {1})}};
}

[[maybe_unused]] Call hadamard(std::string name, const Sizes& sizes, Type type = F) {
  return {
      std::move(name), "llama::fast_hadamard_transform.out", {in(type, sizes), out(type, sizes)}};
}

[[maybe_unused]] Call delta_rule(std::string name, const Sizes& value, const Arg& decay,
                                 const Sizes& state) {
  const Arg query = in(F, {2, 3, 4, 8});
  return {std::move(name),
          "llama::gated_delta_rule.out",
          {query, query, in(F, value), decay, in(F, {2, 3, 4}), in(F, state), out(F, value),
           out(F, state)}};
}

std::vector<Call> language_models() {
#ifdef FUZZ_HAS_CUSTOM_OPS
  const Arg query = in(F, {1, 2, 4, 8}), key = in(F, {1, 6, 2, 8}), row = in(F, {1, 1, 2, 8});
  return {
      sdpa("SdpaBeforeTheFirstPosition", query, key, kMin, nil()),
      sdpa("SdpaAtAPositionThatWrapsAround", query, key, kMax, nil()),
      sdpa("SdpaOfMoreQueriesThanPositions", query, in(F, {1, 1, 2, 8}), 0, nil()),
      sdpa("SdpaOfOtherChannels", query, in(F, {1, 6, 2, 4}), 0, nil()),
      sdpa("SdpaOfHeadsThatDoNotDivide", query, in(F, {1, 6, 3, 8}), 0, nil()),
      sdpa("SdpaOfNoHeads", query, in(F, {1, 6, 0, 8}), 0, nil()),
      sdpa("SdpaOfNoChannels", in(F, {1, 2, 4, 0}), in(F, {1, 6, 2, 0}), 0, nil()),
      sdpa("SdpaOfNoPositions", in(F, {1, 0, 4, 8}), in(F, {1, 0, 2, 8}), 0, in(F, {0, 0})),
      sdpa("SdpaOfFewBatches", in(F, {3, 2, 4, 8}), key, 0, nil()),
      sdpa("SdpaWithAShortMask", query, key, 0, in(F, {2, 5})),
      sdpa("SdpaWithAMask", query, key, 3, in(F, {2, 6})),
      sdpa("SdpaWithAMaskOfIntegers", query, key, 0, in(L, {2, 6})),
      sdpa("SdpaOfAnyScale", query, key, 0, nil(), dbl(1e308)),
      sdpa("SdpaOfAHalfCache", query, in(Type::HALF, {1, 6, 2, 8}), 1, nil()),
      sdpa("SdpaOfABfloat16CacheWithAMask", query, in(Type::BFLOAT16, {1, 6, 2, 8}), 0,
           in(F, {2, 6})),
      sdpa("SdpaOfHalfQueriesOnAFloatCache", in(Type::HALF, {1, 2, 4, 8}), key, 0, nil()),
      sdpa("SdpaOfHalfQueriesOnABfloat16Cache", in(Type::HALF, {1, 2, 4, 8}),
           in(Type::BFLOAT16, {1, 6, 2, 8}), 0, nil()),
      sdpa("SdpaOfADoubleCache", query, in(Type::DOUBLE, {1, 6, 2, 8}), 0, nil()),
      sdpa("SdpaOfAHalfCacheOfFewBatches", in(F, {3, 2, 4, 8}), in(Type::HALF, {1, 6, 2, 8}), 0,
           nil()),
      sdpa_with_cache("SdpaWithAHalfCache", row, in(Type::HALF, {1, 6, 2, 8}), 5, 2),
      sdpa_with_cache("SdpaWithAHalfCacheAtItsEnd", row, in(Type::HALF, {1, 6, 2, 8}), 6, 2),
      update("AHalfCacheOfFloats", in(F, {1, 2, 2, 8}), in(Type::HALF, {1, 6, 2, 8}), 4),
      update("AHalfCacheOfFloatsBeyondItsEnd", in(F, {1, 3, 2, 8}), in(Type::HALF, {1, 6, 2, 8}),
             4),
      update("AFloatCacheOfHalves", in(Type::HALF, {1, 2, 2, 8}), in(F, {1, 6, 2, 8}), 0),
      update("AByteCacheOfFloats", in(F, {1, 2, 2, 8}), in(C, {1, 6, 2, 8}), 0),
      update("AHalfCacheOfMoreBatches", in(F, {2, 2, 2, 8}), in(Type::HALF, {1, 6, 2, 8}), 0),
      sdpa("SdpaOfMatrices", in(F, {2, 8}), in(F, {6, 8}), 0, nil()),
      quantized_sdpa("QuantizedSdpa", in(C, {1, 2, 4, 1}), in(F, {1, 2, 4, 1})),
      quantized_sdpa("QuantizedSdpaOfOtherLayout", in(C, {1, 2, 4, 1}), in(F, {1, 2, 4, 1}), true),
      quantized_sdpa("QuantizedSdpaWithoutScales", in(C, {1, 2, 4, 1}), nil()),
      quantized_sdpa("QuantizedSdpaOfFewScales", in(C, {1, 2, 4, 1}), in(F, {1, 1, 4, 1})),
      quantized_sdpa("QuantizedSdpaOfWideZeroPoints", in(L, {1, 2, 4, 1}), in(F, {1, 2, 4, 1})),
      sdpa_with_cache("SdpaWithACache", in(F, {1, 2, 2, 8}), key, 4, 2),
      sdpa_with_cache("SdpaWithACacheThatIsFull", in(F, {1, 2, 2, 8}), key, 6, 2),
      sdpa_with_cache("SdpaWithACacheOfOtherHeads", in(F, {1, 2, 4, 8}), key, 0, 2),
      sdpa_with_cache("SdpaOfALengthThatLies", in(F, {1, 2, 2, 8}), key, 0, kMax),
      sdpa_with_cache("SdpaOfFewNewKeys", row, key, 0, 2),
      update("UpdateOfACacheBehindItsEnd", row, key, 6),
      update("UpdateOfACacheBeforeItsStart", row, key, -1),
      update("UpdateOfACacheAtAPositionThatWrapsAround", in(F, {1, 2, 2, 8}), key, kMax),
      update("UpdateOfACacheByMoreBatches", in(F, {2, 1, 2, 8}), key, 0),
      update("UpdateOfACacheByHalves", in(Type::HALF, {1, 1, 2, 8}), key, 0),
      update("UpdateOfACacheByMoreHeads", in(F, {1, 1, 4, 4}), key, 0),
      update_at("UpdateOfACacheAtAnyIndex", in(L, {2, 3})),
      update_at("UpdateOfACacheAtAnyShortIndex", in(I, {2, 3})),
      update_at("UpdateOfACacheAtFewIndices", in(L, {2, 2})),
      update_at("UpdateOfACacheAtFloats", in(F, {2, 3})),
      {"UpdateOfACrossCacheByMorePositions",
       "executorch::update_cross_attn_cache.out",
       {in(F, {1, 2, 7, 8}), in(F, {1, 2, 6, 8}), out(F, {1, 2, 6, 8})}},
      {"UpdateOfACrossCacheByOtherHeads",
       "executorch::update_cross_attn_cache.out",
       {in(F, {1, 3, 2, 8}), in(F, {1, 2, 6, 8}), out(F, {1, 2, 6, 8})}},
      {"AliasesOfOtherDtypes",
       "executorch::alias.out",
       {in(F, {4}), in(L, {4}), out(L, {4}), out(F, {4})}},
      {"AliasesOfOtherSizes",
       "executorch::alias.out",
       {in(F, {4}), in(F, {8}), out(F, {8}), out(F, {4})}},
      delta_rule("DeltaRule", {2, 3, 4, 5}, in(F, {2, 3, 4}), {2, 3, 8, 5}),
      delta_rule("DeltaRuleOfMorePositions", {2, 3, 9, 5}, in(F, {2, 3, 4}), {2, 3, 8, 5}),
      delta_rule("DeltaRuleOfASmallState", {2, 3, 4, 5}, in(F, {2, 3, 4}), {2, 3, 2, 5}),
      delta_rule("DeltaRuleOfFewFactors", {2, 3, 4, 5}, in(F, {2, 3, 4, 1}), {2, 3, 8, 5}),
      delta_rule("DeltaRuleOfAVectorOfFactors", {2, 3, 4, 5}, in(F, {4}), {2, 3, 8, 5}),
      delta_rule("DeltaRuleOfIntegers", {2, 3, 4, 5}, in(L, {2, 3, 4}), {2, 3, 8, 5}),
      hadamard("HadamardOfOddRows", {2, 3}),
      hadamard("HadamardOfNothing", {2, 0}),
      hadamard("HadamardOfNoRows", {0, 8}),
      hadamard("HadamardOfAScalar", {}),
      hadamard("HadamardOfIntegers", {2, 4}, L),
  };
#else
  return {};
#endif
}

[[maybe_unused]] Call embedding(std::string name, const std::string& op, int64_t low, int64_t high,
                                Arg weight, Arg scales, int32_t width) {
  return {std::move(name),
          "quantized_decomposed::" + op,
          {std::move(weight), std::move(scales), nil(), num(low), num(high), in(L, {5}),
           out(F, {5, width})}};
}

std::vector<Call> quantized() {
  const Arg weight = in(C, {3, 8}), input = in(F, {2, 8});
  const auto linear = [&](std::string name, const Arg& scales, const Arg& zero_points) -> Call {
    return {std::move(name),
            "quantized_decomposed::mixed_linear.out",
            {input, weight, scales, zero_points, nil(), out(F, {2, 3})}};
  };
  const auto lookup = [](std::string name, const Arg& from, const Arg& table) -> Call {
    return {std::move(name),
            "quantized_fused::lookup.out",
            {from, table, tensor_of(table.value.tensor.type, {2, 4}, true)}};
  };
  return {
      embedding("BytesOfAnyIndex", "embedding_byte.out", -128, 127, in(C, {4, 8}), in(F, {4}), 8),
      embedding("BytesOfFewScales", "embedding_byte.out", -128, 127, in(C, {4, 8}), in(F, {3}), 8),
      embedding("BytesOfNoGroups", "embedding_byte.out", -128, 127, in(C, {4, 8}), in(F, {4, 0}),
                8),
      embedding("BytesOfMoreGroupsThanElements", "embedding_byte.out", -128, 127, in(C, {4, 8}),
                in(F, {4, 16}), 8),
      embedding("BytesOfAVector", "embedding_byte.out", -128, 127, in(C, {4}), in(F, {4}), 1),
      embedding("NibblesOfAnyIndex", "embedding_4bit.out", -8, 7, in(U, {4, 4}), in(F, {4, 2}), 8),
      embedding("NibblesOfOddGroups", "embedding_4bit.out", -8, 7, in(U, {4, 4}), in(F, {4, 3}), 8),
      embedding("NibblesOfSignedBytes", "embedding_4bit.out", -8, 7, in(C, {4, 4}), in(F, {4}), 8),
      embedding("PairsOfBitsOfAnyIndex", "embedding_2bit.out", -2, 1, in(U, {4, 2}), in(F, {4}), 8),
      embedding("PairsOfBitsWithoutRows", "embedding_2bit.out", -2, 1, in(U, {0, 2}), in(F, {0}),
                8),
      linear("LinearOfFewScales", in(F, {2}), nil()),
      linear("LinearOfNoGroups", in(F, {3, 0}), nil()),
      linear("LinearOfMoreGroupsThanInputs", in(F, {3, 64}), in(F, {3, 64})),
      linear("LinearOfFewZeroPoints", in(F, {3, 2}), in(C, {3, 1})),
      {"MixedProductOfOtherSizes",
       "quantized_decomposed::mixed_mm.out",
       {in(F, {2, 4}), weight, in(F, {3}), nil(), out(F, {2, 8})}},
      {"ChannelsAlongADimThatIsNotThere",
       "quantized_decomposed::quantize_per_channel.out",
       {input, in(F, {8}), in(L, {8}), num(kMin), num(-128), num(127), num(1), out(C, {2, 8})}},
      {"GroupsOfAHugeSize",
       "quantized_decomposed::quantize_per_channel_group.out",
       {input, in(F, {2, 2}), in(L, {2, 2}), num(-128), num(127), num(1), num(kMax),
        out(C, {2, 8})}},
      {"GroupsOfAHugeSizeInEmptyRows",
       "quantized_decomposed::quantize_per_channel_group.out",
       {in(F, {2, 0}), in(F, {2, 0}), in(L, {2, 0}), num(-128), num(127), num(1), num(kMax),
        out(C, {2, 0})}},
      {"DequantizedGroupsOfAHugeSizeInEmptyRows",
       "quantized_decomposed::dequantize_per_channel_group.out",
       {in(C, {2, 0}), in(F, {2, 0}), nil(), num(-128), num(127), num(1), num(kMax), num(6),
        out(F, {2, 0})}},
      {"GroupsOfNegativeSize",
       "quantized_decomposed::dequantize_per_channel_group.out",
       {in(C, {2, 8}), in(F, {2, 2}), nil(), num(-128), num(127), num(1), num(-4), num(6),
        out(F, {2, 8})}},
      lookup("LookupInAShortTable", in(C, {2, 4}), in(C, {255})),
      lookup("LookupInATableOfWords", in(C, {2, 4}), in(I, {256})),
      lookup("LookupOfAnyByte", in(U, {2, 4}), in(C, {256})),
      // The padded image has 2^64 + 2^19 elements.
      {"ConvolutionOfPadsThatWrapAround",
       "aten::convolution.out",
       {in(F, {1, 1, 4, 4}), in(F, {1, 1, 2, 2}), nil(), ints({kWide - 32767, kWide + 32768}),
        ints({1610563586, 1610661889}), ints({1, 1}), flag(false), ints({0, 0}), num(1),
        out(F, {1, 1, 4, 4})}},
      {"TransposedConvolutionOfWideStrides",
       "aten::convolution.out",
       {in(F, {1, 1, 1, 1}), in(F, {1, 1, 2, 2}), nil(), ints({kWide / 2, kWide / 2}), ints({0, 0}),
        ints({1, 1}), flag(true), ints({0, 0}), num(1), out(F, {1, 1, 2, 2})}},
      {"ManyStepsOfAProjectionToNothing",
       "recurrent::lstm.out",
       {in(F, {kWide, 1, 0}), tensors({in(F, {1, 1, 0}), in(F, {1, 1, 4})}),
        tensors({in(F, {16, 0}), in(F, {16, 0}), in(F, {0, 4})}), flag(false), num(1), flag(false),
        flag(false), out(F, {kWide, 1, 0}), out(F, {1, 1, 0}), out(F, {1, 1, 4})}},
      {"QuantizedConvolutionOfFewScales",
       "quantized_fused::convolution.out",
       {in(C, {1, 2, 4, 4}), num(0), in(C, {3, 2, 1, 1}), in(F, {2}), in(F, {3}), ints({1, 1}),
        ints({0, 0}), ints({1, 1}), num(1), num(0), num(-128), num(127), out(C, {1, 3, 4, 4})}},
      {"QuantizedConvolutionOfHugePads",
       "quantized_fused::convolution.out",
       {in(C, {1, 2, 4, 4}), num(0), in(C, {3, 2, 1, 1}), in(F, {3}), in(F, {3}), ints({1, 1}),
        ints({kMax, kMax}), ints({1, 1}), num(1), num(kMax), num(kMin), num(kMax),
        out(C, {1, 3, 4, 4})}},
      {"QuantizedTransposedConvolutionOfNoStride",
       "quantized_fused::transposed_convolution.out",
       {in(C, {1, 2, 4, 4}), num(0), in(C, {2, 3, 1, 1}), in(F, {3}), in(F, {3}), ints({0, 0}),
        ints({0, 0}), ints({1, 1}), ints({kMax, kMax}), num(1), num(0), num(-128), num(127),
        out(C, {1, 3, 4, 4})}},
      {"QuantizedMeanOfOneDimTwice",
       "quantized_fused::mean.out",
       {in(C, {2, 4}), num(0), dbl(1), ints({1, -1}), flag(false), num(0), num(-128), num(127),
        out(C, {2})}},
      {"QuantizedMeanOfNothing",
       "quantized_fused::mean.out",
       {in(C, {2, 0}), num(kMin), dbl(1e30), ints({1}), flag(false), num(0), num(-128), num(127),
        out(C, {2})}},
  };
}

/// Transposed convolutions on one line, with more phases or taps than tensors have elements.
std::vector<Call> wide_windows() {
  constexpr int32_t kLine = 1 << 16;
  const auto transposed = [](std::string name, Type type, int32_t channels, int32_t taps,
                             int64_t stride, int64_t padding) -> Call {
    return {std::move(name),
            "aten::convolution.out",
            {in(type, {1, channels, 1, 1}), in(type, {channels, 1, 1, taps}), nil(),
             ints({1, stride}), ints({0, padding}), ints({1, 1}), flag(true), ints({0, 0}), num(1),
             out(type, {1, 1, 1, kLine})}};
  };
  const int64_t half = (kWide - kLine) / 2;
  return {
      transposed("TransposedConvolutionOfAStrideAsWideAsTheWindow", F, 1, kLine, kLine, 0),
      transposed("TransposedConvolutionOfDoublesOfAWideStride", Type::DOUBLE, 1, kLine, kLine, 0),
      transposed("TransposedConvolutionOfNoChannelsAndAWideWindow", L, 0, kWide, 1 << 20, half),
      transposed("TransposedConvolutionOfNoFloatsAndAWideWindow", F, 0, kWide, 1 << 20, half),
      {"QuantizedTransposedConvolutionOfNoChannelsAndAWideWindow",
       "quantized_fused::transposed_convolution.out",
       {in(C, {1, 0, 1, 1}), num(0), in(C, {0, 1, 1, kWide}), in(F, {1}), in(F, {1}),
        ints({1, 1 << 20}), ints({0, half}), ints({1, 1}), ints({0, 0}), num(1), num(0), num(-128),
        num(127), out(C, {1, 1, 1, kLine})}},
  };
}

std::vector<Call> products() {
  const auto grouped = [](std::string name, const Sizes& left, const Sizes& right, const Arg& ends,
                          const Sizes& result) -> Call {
    return {std::move(name),
            "grouped::grouped_mm.out",
            {in(F, left), in(F, right), ends, flag(false), out(F, result)}};
  };
  return {
      grouped("GroupsOfAnyEnd", {5, 4}, {2, 4, 3}, in(L, {2}), {5, 3}),
      grouped("GroupsOfAnyShortEnd", {5, 4}, {2, 4, 3}, in(I, {2}), {5, 3}),
      grouped("GroupsOfFewEnds", {5, 4}, {2, 4, 3}, in(L, {1}), {5, 3}),
      grouped("NoGroups", {5, 4}, {0, 4, 3}, in(L, {0}), {5, 3}),
      grouped("GroupsOfNoDepth", {5, 0}, {2, 0, 3}, in(L, {2}), {5, 3}),
      grouped("GroupsOfNoColumns", {5, 4}, {2, 4, 0}, in(L, {2}), {5, 0}),
  };
}

/// Images without channels in a batch that is larger than memory.
std::vector<Call> images() {
  const Sizes many = {INT32_MAX, 0, 2, 2};
  return {
      {"NearestPixelsOfNoChannels",
       "aten::_upsample_nearest_exact2d.out",
       {in(F, many), ints({2, 2}), nil(), nil(), out(F, many)}},
      {"MeansOfPixelsOfNoChannels",
       "aten::upsample_bilinear2d.out",
       {in(F, many), ints({2, 2}), flag(false), nil(), nil(), out(F, many)}},
  };
}

std::vector<Call> matrices() {
#ifdef FUZZ_HAS_LINALG
  // Matrices without elements in a batch that is larger than memory.
  const Sizes many = {kWide, kWide / 4, 0, 0}, many_rows = {kWide, kWide / 4, 0};
  return {
      {"SolutionOfAnyPivot",
       "aten::linalg_lu_solve.out",
       {in(F, {3, 3}), in(I, {3}), in(F, {3, 2}), flag(true), flag(false), out(F, {3, 2})}},
      {"UnpackingOfAnyPivot",
       "aten::lu_unpack.out",
       {in(F, {3, 3}), in(I, {3}), flag(true), flag(true), out(F, {3, 3}), out(F, {3, 3}),
        out(F, {3, 3})}},
      {"ReflectionsOfMoreFactorsThanColumns",
       "aten::linalg_householder_product.out",
       {in(F, {3, 2}), in(F, {3}), out(F, {3, 2})}},
      {"SolutionOfOtherBatches",
       "aten::linalg_solve_triangular.out",
       {in(F, {2, 3, 3}), in(F, {3, 3, 2}), flag(true), flag(true), flag(false),
        out(F, {3, 3, 2})}},
      {"SingularValuesOfAnything",
       "aten::_linalg_svd.U",
       {in(F, {3, 2}), flag(true), flag(true), nil(), out(F, {3, 3}), out(F, {2}), out(F, {2, 2})}},
      {"EigenvaluesOfAnything",
       "aten::linalg_eig.out",
       {in(F, {3, 3}), out(kComplex, {3}), out(kComplex, {3, 3})}},
      {"ManyEmptySolutions",
       "aten::linalg_lu_solve.out",
       {in(F, {0, 0}), in(I, {0}), in(F, many), flag(true), flag(false), out(F, many)}},
      {"ManyEmptyTriangles",
       "aten::linalg_solve_triangular.out",
       {in(F, {0, 0}), in(F, many), flag(true), flag(true), flag(false), out(F, many)}},
      {"ManyEmptySystems",
       "aten::_linalg_solve_ex.result",
       {in(F, {0, 0}), in(F, many), flag(true), flag(false), out(F, many), out(F, {0, 0}),
        out(I, {0}), out(I, {})}},
      {"ManyEmptyUnpackings",
       "aten::lu_unpack.out",
       {in(F, many), in(I, many_rows), flag(true), flag(true), out(F, many), out(F, many),
        out(F, many)}},
      {"ManyEmptyFactors",
       "aten::linalg_lu.out",
       {in(F, many), flag(true), out(F, many), out(F, many), out(F, many)}},
      {"ManyEmptyReflections", "aten::geqrf.a", {in(F, many), out(F, many), out(F, many_rows)}},
      {"ManyEmptyQrs",
       "aten::linalg_qr.out",
       {in(F, many), text("reduced"), out(F, many), out(F, many)}},
      {"ManyEmptyProducts",
       "aten::linalg_householder_product.out",
       {in(F, many), in(F, many_rows), out(F, many)}},
      {"ManyEmptySvds",
       "aten::_linalg_svd.U",
       {in(F, many), flag(false), flag(true), nil(), out(F, many), out(F, many_rows),
        out(F, many)}},
      {"ManyEmptyRotations",
       "aten::ormqr.out",
       {in(F, many), in(F, many_rows), in(F, many), flag(true), flag(false), out(F, many)}},
  };
#else
  return {};
#endif
}

}  // namespace

namespace {

/// Places the call's last result on an operand of the same number of bytes.
TestProgram program_in_place(const Call& call, size_t operand) {
  TestProgram program = program_of(call, Dynamism::STATIC);
  auto& values = program.plans[0].values;
  const std::vector<int32_t>& arguments = program.plans[0].chains[0][0].arguments;
  const auto tensor_of = [&](size_t i) -> TestTensor& {
    return values[static_cast<size_t>(arguments[i])].tensor;
  };
  tensor_of(arguments.size() - 1).offset = tensor_of(operand).offset;
  return program;
}

void add_rows_in_place(const std::vector<Call>& calls, std::vector<HostileProgram>* rows) {
  const auto bytes_of = [](const Arg& argument) {
    const bool is_tensor = argument.value.kind == Kind::Tensor;
    return is_tensor ? planned_bytes(argument.value.tensor.type, argument.value.tensor.sizes) : 0;
  };
  for (const Call& call : calls) {
    const uint64_t bytes = bytes_of(call.arguments.back());
    for (size_t i = 0; i + 1 < call.arguments.size(); ++i) {
      if (bytes != 0 && bytes_of(call.arguments[i]) == bytes) {
        rows->push_back({call.name + "AtArgument" + std::to_string(i),
                         [call, i] { return program_in_place(call, i); }, "shares bytes with"});
      }
    }
  }
}

}  // namespace

std::vector<HostileProgram> hostile_library_calls() {
  std::vector<HostileProgram> rows;
  for (const auto& calls : {language_models(), quantized(), products(), images(), matrices()}) {
    add_rows(calls, &rows);
    add_rows_in_place(calls, &rows);
  }
  return rows;
}

std::vector<HostileProgram> hostile_windows() {
  std::vector<HostileProgram> rows;
  add_rows(wide_windows(), &rows);
  add_rows_in_place(wide_windows(), &rows);
  return rows;
}

}  // namespace executorch::testing
