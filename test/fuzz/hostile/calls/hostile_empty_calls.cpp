// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Calls on tensors of a billion rows without elements: a kernel that visits each row would run for
// seconds or minutes, though there is nothing to compute.
#include "fuzz/hostile/calls/hostile_call.h"

namespace executorch::testing {
namespace {

using namespace calls;

constexpr int32_t kRows = 1 << 30;

std::vector<Call> calls_on_rows() {
  const Sizes sizes = {kRows, 0};
  const Arg rows = in(F, sizes), result = out(F, sizes);
  const Arg no = flag(false), zero = num(0), one = num(1);
  return {
      {"Tril", "aten::tril.out", {rows, zero, result}},
      {"Triu", "aten::triu.out", {rows, zero, result}},
      {"Eye", "aten::eye.m_out", {num(kRows), zero, result}},
      {"Flip", "aten::flip.out", {rows, ints({0, 1}), result}},
      {"Roll", "aten::roll.out", {rows, ints({1, 1}), ints({0, 1}), result}},
      {"Cumsum", "aten::cumsum.out", {rows, one, nil(), result}},
      {"CumsumOfRows", "aten::cumsum.out", {rows, zero, nil(), result}},
      {"Cumprod", "aten::cumprod.out", {rows, one, nil(), result}},
      {"Logcumsumexp", "aten::logcumsumexp.out", {rows, one, result}},
      {"Cummax", "aten::cummax.out", {rows, one, result, out(L, sizes)}},
      {"Sort", "aten::sort.values", {rows, one, no, result, out(L, sizes)}},
      {"SortOfRows", "aten::sort.values", {rows, zero, no, result, out(L, sizes)}},
      {"Topk", "aten::topk.values", {rows, zero, one, no, no, result, out(L, sizes)}},
      {"Sum", "aten::sum.IntList_out", {rows, ints({0}), no, nil(), out(F, {0})}},
      {"Prod", "aten::prod.int_out", {rows, zero, no, nil(), out(F, {0})}},
      {"Amax", "aten::amax.out", {rows, ints({0}), no, out(F, {0})}},
      {"Argmax", "aten::argmax.out", {rows, zero, no, out(L, {0})}},
      {"Any", "aten::any.out", {rows, zero, no, out(B, {0})}},
      {"Var", "aten::var.correction_out", {rows, ints({0}), one, no, out(F, {0})}},
      {"Median", "aten::median.dim_values", {rows, zero, no, out(F, {0}), out(L, {0})}},
      {"Mode", "aten::mode.values", {rows, zero, no, out(F, {0}), out(L, {0})}},
      {"Kthvalue", "aten::kthvalue.values", {rows, one, zero, no, out(F, {0}), out(L, {0})}},
      {"Softmax", "aten::_softmax.out", {rows, one, no, result}},
      {"SoftmaxOfRows", "aten::_softmax.out", {rows, zero, no, result}},
      {"LogSoftmax", "aten::_log_softmax.out", {rows, one, no, result}},
      {"Cat", "aten::cat.out", {tensors({rows, rows}), one, result}},
      {"Stack", "aten::stack.out", {tensors({rows, rows}), num(2), out(F, {kRows, 0, 2})}},
      {"Split", "aten::split_copy.Tensor_out", {rows, num(kRows), zero, tensors({result})}},
      {"IndexSelect", "aten::index_select.out", {rows, one, in(L, {0}), result}},
      {"Gather", "aten::gather.out", {rows, zero, in(L, sizes), no, result}},
      {"Scatter", "aten::scatter.src_out", {rows, zero, in(L, sizes), rows, result}},
      {"ScatterAdd", "aten::scatter_add.out", {rows, one, in(L, sizes), rows, result}},
      {"Index", "aten::index.Tensor_out", {rows, optional({nil(), in(L, {0})}), result}},
      {"IndexPut", "aten::index_put.out", {rows, optional({nil(), in(L, {0})}), rows, no, result}},
      {"Embedding",
       "aten::embedding.out",
       {in(F, {4, 0}), in(L, {kRows, 0}), zero, no, no, out(F, {kRows, 0, 0})}},
      {"Permute", "aten::permute_copy.out", {rows, ints({1, 0}), out(F, {0, kRows})}},
      {"Expand", "aten::expand_copy.out", {in(F, {1, 0}), ints({kRows, 0}), no, result}},
      {"Repeat", "aten::repeat.out", {in(F, {1, 0}), ints({kRows, 1}), result}},
      {"Tile", "aten::repeat.out", {rows, ints({1, 1 << 20}), result}},
      {"Pad",
       "aten::constant_pad_nd.out",
       {rows, ints({0, 0, 1, 1}), zero, out(F, {kRows + 2, 0})}},
      {"Unfold", "aten::unfold_copy.out", {rows, zero, one, one, out(F, {kRows, 0, 1})}},
      {"Diagonal", "aten::diagonal_copy.out", {rows, zero, zero, one, out(F, {0})}},
      {"Select", "aten::select_copy.int_out", {rows, zero, num(5), out(F, {0})}},
      {"SliceScatter", "aten::slice_scatter.out", {rows, rows, zero, zero, num(kMax), one, result}},
      {"Nonzero", "aten::nonzero.out", {rows, out(L, {0, 2})}},
      {"MaskedSelect", "aten::masked_select.out", {rows, in(B, sizes), out(F, {0})}},
      {"MaskedFill", "aten::masked_fill.Scalar_out", {rows, in(B, sizes), zero, result}},
      {"Where", "aten::where.self_out", {in(B, sizes), rows, rows, result}},
      {"Glu", "aten::glu.out", {rows, one, result}},
      {"Pdist", "aten::_pdist_forward.out", {rows, dbl(2), out(F, {0})}},
      {"Mm", "aten::mm.out", {rows, in(F, {0, 0}), result}},
      {"Linear", "aten::linear.out", {rows, in(F, {0, 0}), nil(), result}},
      {"AvgPool",
       "aten::avg_pool2d.out",
       {in(F, {kRows, 0, 4, 4}), ints({2, 2}), ints({2, 2}), ints({0, 0}), no, no, nil(),
        out(F, {kRows, 0, 2, 2})}},
      {"MaxPool",
       "aten::max_pool2d_with_indices.out",
       {in(F, {kRows, 0, 4, 4}), ints({2, 2}), ints({2, 2}), ints({0, 0}), ints({1, 1}), no,
        out(F, {kRows, 0, 2, 2}), out(L, {kRows, 0, 2, 2})}},
      {"Upsample",
       "aten::upsample_bilinear2d.out",
       {in(F, {kRows, 0, 2, 2}), ints({4, 4}), no, nil(), nil(), out(F, {kRows, 0, 4, 4})}},
      {"PixelShuffle",
       "aten::pixel_shuffle.out",
       {in(F, {kRows, 0, 2, 2}), num(2), out(F, {kRows, 0, 4, 4})}},
      {"ReflectionPad",
       "aten::reflection_pad2d.out",
       {in(F, {kRows, 0, 4, 4}), ints({1, 1, 1, 1}), out(F, {kRows, 0, 6, 6})}},
      {"GridSampler",
       "aten::grid_sampler_2d.out",
       {in(F, {kRows, 0, 2, 2}), in(F, {kRows, 0, 0, 2}), zero, zero, no,
        out(F, {kRows, 0, 0, 0})}},
      {"Im2col",
       "aten::im2col.out",
       {in(F, {kRows, 0, 4, 4}), ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({1, 1}),
        out(F, {kRows, 0, 9})}},
      {"Col2im",
       "aten::col2im.out",
       {in(F, {kRows, 0, 9}), ints({4, 4}), ints({2, 2}), ints({1, 1}), ints({0, 0}), ints({1, 1}),
        out(F, {kRows, 0, 4, 4})}},
      {"CumsumOfComplex",
       "aten::cumsum.out",
       {in(static_cast<Type>(9), sizes), one, nil(), out(static_cast<Type>(9), sizes)}},
      {"NonzeroStatic", "aten::nonzero_static.out", {rows, num(2), zero, out(L, {2, 2})}},
      {"MaskedScatter", "aten::masked_scatter.out", {rows, in(B, sizes), rows, result}},
      {"GridSampler3d",
       "aten::grid_sampler_3d.out",
       {in(F, {kRows, 0, 2, 2, 2}), in(F, {kRows, 0, 0, 0, 3}), zero, zero, no,
        out(F, {kRows, 0, 0, 0, 0})}},
      {"Convolution",
       "aten::convolution.out",
       {in(F, {kRows, 2, 0, 4}), in(F, {2, 2, 1, 1}), nil(), ints({1, 1}), ints({0, 0}),
        ints({1, 1}), no, ints({0, 0}), one, out(F, {kRows, 2, 0, 4})}},
      {"BatchNorm",
       "aten::_native_batch_norm_legit_no_training.out",
       {in(F, {kRows, 2, 0}), nil(), nil(), in(F, {2}), in(F, {2}), dbl(0.1), dbl(1e-5),
        out(F, {kRows, 2, 0}), out(F, {0}), out(F, {0})}},
      {"Searchsorted",
       "aten::searchsorted.Tensor_out",
       {rows, rows, no, no, nil(), nil(), out(L, sizes)}},
      {"Unique",
       "aten::_unique2.out",
       {rows, flag(true), flag(true), flag(true), out(F, {0}), out(L, sizes), out(L, {0})}},
      {"ToCopy", "aten::_to_copy.out", {rows, no, nil(), result}},
      {"ToDtype", "aten::_to_copy.out", {rows, no, nil(), out(L, sizes)}},
      {"Full", "aten::full.out", {ints({kRows, 0}), one, result}},
      {"AddOfDtypes", "aten::add.out", {rows, in(L, sizes), one, result}},
      {"View", "aten::view_copy.out", {rows, ints({0, kRows}), out(F, {0, kRows})}},
  };
}

}  // namespace

std::vector<HostileProgram> hostile_empty_calls() {
  std::vector<Call> calls = calls_on_rows();
  for (Call& call : calls) call.name += "OfManyEmptyRows";
  std::vector<HostileProgram> rows;
  add_rows(calls, &rows);
  return rows;
}

}  // namespace executorch::testing
