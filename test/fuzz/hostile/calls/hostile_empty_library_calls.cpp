// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// As hostile_empty_calls.cpp, for quantized operators, linear algebra, operators of language models
// and convolutions; and windows of a billion taps on small images.
#include "fuzz/hostile/calls/hostile_call.h"

namespace executorch::testing {
namespace {

using namespace calls;

constexpr Type C = Type::CHAR;
[[maybe_unused]] constexpr Type I = Type::INT;
constexpr int32_t kRows = 1 << 30;

std::vector<Call> quantized_rows() {
  const Sizes sizes = {kRows, 0}, tokens = {kRows, 0, 4}, parameters = {kRows, 0, 1};
  const Arg rows = in(F, sizes), bytes = in(C, sizes), result = out(F, sizes);
  const Arg quantized = out(C, sizes), none_left = in(F, {0});
  const Arg zero = num(0), one = num(1), low = num(-128), high = num(127), scale = dbl(0.5);
  const Arg square = in(C, {0, 0});
  const auto binary = [&](const std::string& name, const std::string& op) -> Call {
    return {name,
            op,
            {bytes, scale, zero, low, high, bytes, scale, zero, low, high, scale, zero, low, high,
             quantized}};
  };
  return {
      {"Quantize",
       "quantized_decomposed::quantize_per_tensor.out",
       {rows, scale, zero, low, high, one, quantized}},
      {"Dequantize",
       "quantized_decomposed::dequantize_per_tensor.out",
       {bytes, scale, zero, low, high, one, nil(), result}},
      {"QuantizeChannels",
       "quantized_decomposed::quantize_per_channel.out",
       {rows, none_left, in(L, {0}), one, low, high, one, quantized}},
      {"DequantizeChannels",
       "quantized_decomposed::dequantize_per_channel.out",
       {bytes, none_left, in(L, {0}), one, low, high, one, nil(), result}},
      {"QuantizeGroups",
       "quantized_decomposed::quantize_per_channel_group.out",
       {rows, rows, in(L, sizes), low, high, one, one, quantized}},
      {"DequantizeGroups",
       "quantized_decomposed::dequantize_per_channel_group.out",
       {bytes, rows, in(L, sizes), low, high, one, one, num(6), result}},
      {"QuantizeTokens",
       "quantized_decomposed::quantize_per_token.out",
       {in(F, tokens), in(F, parameters), in(L, parameters), low, high, one, out(C, tokens)}},
      {"DequantizeTokens",
       "quantized_decomposed::dequantize_per_token.out",
       {in(C, tokens), in(F, parameters), in(L, parameters), low, high, one, num(6),
        out(F, tokens)}},
      {"ChooseParametersOfTokens",
       "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
       {in(F, tokens), one, out(F, parameters), out(L, parameters)}},
      binary("AddQuantized", "quantized_decomposed::add.out"),
      binary("MulQuantized", "quantized_fused::mul.out"),
      binary("SubQuantized", "quantized_fused::sub.out"),
      {"EmbeddingOfNoIndices",
       "quantized_decomposed::embedding_byte.out",
       {in(C, {4, 8}), in(F, {4}), nil(), low, high, in(L, sizes), out(F, {kRows, 0, 8})}},
      {"EmbeddingOfNoColumns",
       "quantized_decomposed::embedding_byte.out",
       {in(C, {4, 0}), in(F, {4}), nil(), low, high, in(L, {2}), out(F, {2, 0})}},
      {"MixedLinear",
       "quantized_decomposed::mixed_linear.out",
       {rows, square, none_left, nil(), nil(), result}},
      {"MixedMm", "quantized_decomposed::mixed_mm.out", {rows, square, none_left, nil(), result}},
      {"QuantizedLinear",
       "quantized_fused::linear.out",
       {bytes, square, none_left, none_left, zero, low, high, quantized}},
      {"QuantizedProduct", "quantized_fused::product.out", {bytes, square, out(I, sizes)}},
      {"Lookup", "quantized_fused::lookup.out", {bytes, in(C, {256}), quantized}},
      {"QuantizedMean",
       "quantized_fused::mean.out",
       {bytes, zero, scale, ints({0}), flag(false), zero, low, high, out(C, {0})}},
  };
}

std::vector<Call> images() {
  const Arg zero = num(0), one = num(1), low = num(-128), high = num(127), no = flag(false);
  const Arg ones = ints({1, 1}), zeros = ints({0, 0}), twos = ints({2, 2});
  const Sizes planes = {kRows, 0, 4, 4}, pooled = {kRows, 0, 2, 2};
  const auto convolution = [&](std::string name, Type type, const Sizes& image, const Sizes& weight,
                               int64_t groups, const Sizes& result) -> Call {
    return {std::move(name),
            "aten::convolution.out",
            {in(type, image), in(type, weight), nil(), ones, zeros, ones, no, zeros, num(groups),
             out(type, result)}};
  };
  return {
      convolution("ConvolutionToManyChannels", F, {1, 0, 0, 1}, {kRows, 0, 1, 1}, 1,
                  {1, kRows, 0, 1}),
      convolution("ConvolutionOfIntegersToManyChannels", L, {1, 0, 0, 1}, {kRows, 0, 1, 1}, 1,
                  {1, kRows, 0, 1}),
      convolution("ConvolutionOfManyGroups", F, {1, 0, 0, 1}, {kRows, 0, 1, 1}, kRows,
                  {1, kRows, 0, 1}),
      convolution("ConvolutionOfATallWindow", F, {1, 0, kRows, 1}, {2, 0, kRows, 1}, 1,
                  {1, 2, 1, 1}),
      convolution("ConvolutionOfAWideWindow", F, {1, 0, 1, kRows}, {2, 0, 1, kRows}, 1,
                  {1, 2, 1, 1}),
      convolution("ConvolutionOfDoublesOfAWideWindow", Type::DOUBLE, {1, 0, 1, kRows},
                  {2, 0, 1, kRows}, 1, {1, 2, 1, 1}),
      {"QuantizedConvolution",
       "quantized_fused::convolution.out",
       {in(C, {kRows, 2, 0, 4}), zero, in(C, {3, 2, 1, 1}), in(F, {3}), in(F, {3}), ones, zeros,
        ones, one, zero, low, high, out(C, {kRows, 3, 0, 4})}},
      {"QuantizedConvolutionOfAWideWindow",
       "quantized_fused::convolution.out",
       {in(C, {1, 0, 1, kRows}), zero, in(C, {3, 0, 1, kRows}), in(F, {3}), in(F, {3}), ones, zeros,
        ones, one, zero, low, high, out(C, {1, 3, 1, 1})}},
      {"QuantizedAvgPool",
       "quantized_fused::avg_pool2d.out",
       {in(C, planes), zero, dbl(1), twos, twos, zeros, no, no, nil(), zero, low, high,
        out(C, pooled)}},
      {"QuantizedMaxPool",
       "quantized_fused::max_pool2d.out",
       {in(C, planes), twos, twos, zeros, ones, no, out(C, pooled)}},
      {"QuantizedAvgPoolOfAWideWindow",
       "quantized_fused::avg_pool2d.out",
       {in(C, {1, 1, 2, 2}), zero, dbl(1), ints({1, kRows}), ones, ints({0, kRows / 2}), no, no,
        nil(), zero, low, high, out(C, {1, 1, 2, 3})}},
      {"QuantizedMaxPoolOfAWideWindow",
       "quantized_fused::max_pool2d.out",
       {in(C, {1, 1, 2, 2}), ints({1, kRows}), ones, ints({0, kRows / 2}), ones, no,
        out(C, {1, 1, 2, 3})}},
      {"MaxPoolOfATallWindow",
       "aten::max_pool2d_with_indices.out",
       {in(F, {1, 1, 2, 2}), ints({kRows, 1}), ones, ints({kRows / 2, 0}), ones, no,
        out(F, {1, 1, 3, 2}), out(L, {1, 1, 3, 2})}},
      {"MaxPoolOfIntegersOfAWideWindow",
       "aten::max_pool2d_with_indices.out",
       {in(L, {1, 1, 2, 2}), ints({1, kRows}), ones, ints({0, kRows / 2}), ones, no,
        out(L, {1, 1, 2, 3}), out(L, {1, 1, 2, 3})}},
      {"AvgPoolOfATallWindow",
       "aten::avg_pool2d.out",
       {in(F, {1, 1, 2, 2}), ints({kRows, 1}), ones, ints({kRows / 2, 0}), no, no, nil(),
        out(F, {1, 1, 3, 2})}},
  };
}

/// One channel of an image without rows or columns, whose padding alone has results.
std::vector<Call> paddings() {
  const auto convolution = [](std::string name, Type type, const Sizes& image, const Sizes& weight,
                              std::vector<int64_t> padding, const Sizes& result) -> Call {
    return {std::move(name),
            "aten::convolution.out",
            {in(type, image), in(type, weight), nil(), ints({1, 1}), ints(padding), ints({1, 1}),
             flag(false), ints({0, 0}), num(1), out(type, result)}};
  };
  const auto transposed = [](std::string name, Type type, const Sizes& image, const Sizes& weight,
                             const Sizes& result) -> Call {
    return {std::move(name),
            "aten::convolution.out",
            {in(type, image), in(type, weight), nil(), ints({1, 1}), ints({0, 0}), ints({1, 1}),
             flag(true), ints({0, 0}), num(1), out(type, result)}};
  };
  const Sizes flat = {1, 1, 0, 5}, thin = {1, 1, 5, 0};
  std::vector<Call> calls;
  for (const auto& [name, type] : std::vector<std::pair<std::string, Type>>{
           {"", F}, {"OfHalves", Type::HALF}, {"OfDoubles", Type::DOUBLE}}) {
    calls.insert(
        calls.end(),
        {
            convolution("ConvolutionOfNoRows" + name, type, flat, {2, 1, 3, 3}, {2, 2},
                        {1, 2, 2, 7}),
            convolution("ConvolutionOfNoColumns" + name, type, thin, {2, 1, 3, 3}, {2, 2},
                        {1, 2, 7, 2}),
            convolution("ConvolutionToOneChannelOfNoRows" + name, type, flat, {1, 1, 3, 3}, {2, 2},
                        {1, 1, 2, 7}),
            convolution("WideConvolutionOfNoRows" + name, type, flat, {40, 1, 3, 3}, {9, 9},
                        {1, 40, 16, 21}),
            convolution("PointsOfNoRows" + name, type, flat, {2, 1, 1, 1}, {1, 1}, {1, 2, 2, 7}),
            convolution("ALineOfNoColumns" + name, type, thin, {2, 1, 1, 2}, {0, 2}, {1, 2, 5, 3}),
            transposed("TransposedConvolutionOfNoRows" + name, type, flat, {1, 2, 5, 5},
                       {1, 2, 4, 9}),
            transposed("TransposedConvolutionOfNoColumns" + name, type, thin, {1, 2, 5, 5},
                       {1, 2, 9, 4}),
        });
  }
  return calls;
}

std::vector<Call> languages() {
#ifdef FUZZ_HAS_CUSTOM_OPS
  const auto sdpa = [](std::string name, const Sizes& query, const Sizes& key) -> Call {
    return {std::move(name),
            "llama::custom_sdpa.out",
            {in(F, query), in(F, key), in(F, key), num(0), nil(), dbl(0), flag(false), nil(),
             out(F, query)}};
  };
  const auto update = [](std::string name, const Sizes& sizes) -> Call {
    return {std::move(name),
            "llama::update_cache.out",
            {in(F, sizes), in(F, sizes), num(0), out(F, {1})}};
  };
  const auto delta_rule = [](std::string name, const Sizes& query, const Sizes& value,
                             const Sizes& beta, const Sizes& state) -> Call {
    return {std::move(name),
            "llama::gated_delta_rule.out",
            {in(F, query), in(F, query), in(F, value), in(F, beta), in(F, beta), in(F, state),
             out(F, value), out(F, state)}};
  };
  const Sizes many = {kRows, 0, 2, 4};
  return {
      delta_rule("DeltaRuleOfManyBatches", {kRows, 0, 2, 4}, {kRows, 0, 2, 8}, {kRows, 0, 2},
                 {kRows, 0, 4, 8}),
      delta_rule("DeltaRuleOfManyHeadsWithoutPositions", {1, kRows, 0, 0}, {1, kRows, 0, 0},
                 {1, kRows, 0}, {1, kRows, 0, 0}),
      sdpa("SdpaOfManyQueries", {1, kRows, 1, 0}, {1, kRows, 1, 0}),
      sdpa("SdpaOfManyHeads", {1, 1, kRows, 0}, {1, 1, kRows, 0}),
      sdpa("SdpaOfManyBatches", {kRows, 0, 4, 8}, {kRows, 0, 2, 8}),
      sdpa("SdpaOfManyBatchesOfNoChannels", {kRows, 2, 4, 0}, {kRows, 6, 2, 0}),
      update("UpdateOfManyPositions", {1, kRows, 1, 0}),
      update("UpdateOfManyBatches", {kRows, 1, 2, 0}),
      update("UpdateOfManyHeads", {1, 0, kRows, 1}),
      {"UpdateAtNoIndices",
       "llama::update_cache_with_indices.out",
       {in(F, many), in(F, many), num(0), in(L, {kRows, 0}), out(F, {1})}},
      {"UpdateOfACrossCache",
       "executorch::update_cross_attn_cache.out",
       {in(F, {kRows, 2, 0, 8}), in(F, {kRows, 2, 0, 8}), out(F, {kRows, 2, 0, 8})}},
      {"SdpaWithACacheOfManyHeads",
       "llama::sdpa_with_kv_cache.out",
       {in(F, {1, 1, kRows, 0}), in(F, {1, 1, kRows, 0}), in(F, {1, 1, kRows, 0}),
        in(F, {1, 1, kRows, 0}), in(F, {1, 1, kRows, 0}), num(0), num(1), nil(), dbl(0), flag(true),
        nil(), out(F, {1, 1, kRows, 0})}},
  };
#else
  return {};
#endif
}

std::vector<Call> matrices() {
  const Arg tall = in(F, {kRows, 0}), tall_out = out(F, {kRows, 0}), small = out(F, {0, 0});
  std::vector<Call> calls = {
      {"GroupedProduct",
       "grouped::grouped_mm.out",
       {tall, in(F, {2, 0, 0}), in(L, {2}), flag(false), tall_out}},
  };
#ifdef FUZZ_HAS_LINALG
  const Arg wide = in(F, {0, kRows}), wide_out = out(F, {0, kRows}), none_left = in(F, {0});
  const Arg yes = flag(true), no = flag(false);
  const Sizes batch = {kRows, 0, 3, 3}, rows = {kRows, 0};
  calls.insert(
      calls.end(),
      {
          {"Lu", "aten::linalg_lu.out", {wide, yes, small, small, wide_out}},
          {"Qr", "aten::linalg_qr.out", {tall, text("reduced"), tall_out, small}},
          {"Svd", "aten::_linalg_svd.U", {tall, no, yes, nil(), tall_out, out(F, {0}), small}},
          {"Geqrf", "aten::geqrf.a", {tall, tall_out, out(F, {0})}},
          {"Householder", "aten::linalg_householder_product.out", {tall, none_left, tall_out}},
          {"Ormqr", "aten::ormqr.out", {tall, none_left, tall, yes, no, tall_out}},
          {"Triangular",
           "aten::linalg_solve_triangular.out",
           {in(F, {0, 0}), wide, yes, yes, no, wide_out}},
          {"LuSolve",
           "aten::linalg_lu_solve.out",
           {in(F, {0, 0}), in(I, {0}), wide, yes, no, wide_out}},
          {"Cholesky",
           "aten::linalg_cholesky_ex.L",
           {in(F, batch), no, no, out(F, batch), out(I, rows)}},
          {"Inverse",
           "aten::linalg_inv_ex.inverse",
           {in(F, batch), no, out(F, batch), out(I, rows)}},
          {"Det",
           "aten::_linalg_det.result",
           {in(F, batch), out(F, rows), out(F, batch), out(I, {kRows, 0, 3})}},
          {"MatrixExp", "aten::linalg_matrix_exp.out", {in(F, batch), out(F, batch)}},
          {"MatrixExpOfNothing",
           "aten::linalg_matrix_exp.out",
           {in(F, {kRows, 0, 0}), out(F, {kRows, 0, 0})}},
          {"Eigh",
           "aten::_linalg_eigh.eigenvalues",
           {in(F, {kRows, 0, 0}), text("L"), yes, out(F, rows), out(F, {kRows, 0, 0})}},
      });
#endif
  return calls;
}

}  // namespace

std::vector<HostileProgram> hostile_empty_library_calls() {
  std::vector<HostileProgram> rows;
  for (std::vector<Call> calls :
       {quantized_rows(), images(), paddings(), languages(), matrices()}) {
    for (Call& call : calls) call.name += "WithoutElements";
    add_rows(calls, &rows);
  }
  return rows;
}

}  // namespace executorch::testing
