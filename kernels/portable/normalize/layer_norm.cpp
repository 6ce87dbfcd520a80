// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer and group norm: regions within one sample.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/normalize/region.h>

namespace executorch::kernels::portable {
namespace {

/// The affine parameter of a layer norm, repeated over the leading dimensions.
bool layer_parameter(KernelRuntimeContext& ctx, const char* name,
                     const std::optional<Tensor>& tensor, const Shape& shape, const Shape& input,
                     Strided* result) {
  if (!tensor) return true;
  if (!expect_floating(ctx, name, *tensor) ||
      !ET_EXPECT(ctx, Shape(*tensor) == shape, "%s must have sizes %s, found %s", name,
                 ShapeText(shape).text, ShapeText(*tensor).text)) {
    return false;
  }
  *result = expanded(Strided(*tensor), input);
  return true;
}

bool group_parameter(KernelRuntimeContext& ctx, const char* name,
                     const std::optional<Tensor>& tensor, int64_t channels) {
  return !tensor || (expect_floating(ctx, name, *tensor) &&
                     ET_EXPECT(ctx, tensor->dim() == 1 && tensor->size(0) == channels,
                               "%s must have sizes [%" PRId64 "], found %s", name, channels,
                               ShapeText(*tensor).text));
}

/// Splits dimension 1, the channels, into groups and channels of a group.
void split_channels(Strided& memory, int64_t groups) {
  const int64_t channels = memory.sizes[1] / groups;
  memory.sizes[1] = groups;
  memory.insert(2, channels, memory.strides[1]);
  memory.strides[1] *= channels;
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> native_layer_norm_out(
    KernelRuntimeContext& ctx, const Tensor& input, ArrayRef<int64_t> normalized_shape,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
    Tensor& out0, Tensor& out1, Tensor& out2) {
  std::tuple<Tensor&, Tensor&, Tensor&> result(out0, out1, out2);
  const Shape shape(input);
  const int trailing = int(normalized_shape.size());
  bool fits = trailing > 0 && trailing <= shape.rank;
  for (int d = 0; fits && d < trailing; ++d) {
    fits = shape.sizes[shape.rank - trailing + d] == normalized_shape[d];
  }
  if (!expect_floating(ctx, "input", input) ||
      !ET_EXPECT(ctx, fits, "normalized_shape is not the end of input's sizes %s",
                 ShapeText(shape).text)) {
    return result;
  }
  Normalization n;
  const Shape tail(normalized_shape);
  Shape statistics = shape;
  for (int d = shape.rank - trailing; d < shape.rank; ++d) statistics.sizes[d] = 1;
  if (!layer_parameter(ctx, "weight", weight, tail, shape, &n.weight) ||
      !layer_parameter(ctx, "bias", bias, tail, shape, &n.bias) ||
      !expect_dtype(ctx, "out0", out0, input.scalar_type()) || !resize(ctx, out0, shape) ||
      !expect_floating(ctx, "out1", out1) || !expect_floating(ctx, "out2", out2) ||
      !resize(ctx, out1, statistics) || !resize(ctx, out2, statistics)) {
    return result;
  }
  n.out = Strided(out0);
  n.in = Strided(input);
  n.kept = (1u << (shape.rank - trailing)) - 1;
  n.eps = eps;
  n.mean = Strided(out1);
  n.rstd = Strided(out2);
  normalize_regions(n);
  return result;
}

std::tuple<Tensor&, Tensor&, Tensor&> native_group_norm_out(
    KernelRuntimeContext& ctx, const Tensor& input, const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps,
    Tensor& out0, Tensor& out1, Tensor& out2) {
  std::tuple<Tensor&, Tensor&, Tensor&> result(out0, out1, out2);
  int64_t inner = 1;
  for (int d = 2; d < int(input.dim()); ++d) inner *= input.size(d);
  Shape statistics;
  statistics.append(N);
  statistics.append(group);
  if (!expect_floating(ctx, "input", input) ||
      !ET_EXPECT(ctx, input.dim() >= 2 && input.size(0) == N && input.size(1) == C && inner == HxW,
                 "N %" PRId64 ", C %" PRId64 " and HxW %" PRId64
                 " are not those of input's sizes %s",
                 N, C, HxW, ShapeText(input).text) ||
      !ET_EXPECT(ctx, group > 0 && C % group == 0,
                 "C %" PRId64 " must be a multiple of group %" PRId64, C, group) ||
      !ET_EXPECT(ctx, input.dim() < Strided::kCapacity, "input has too many dimensions") ||
      !group_parameter(ctx, "weight", weight, C) || !group_parameter(ctx, "bias", bias, C) ||
      !expect_dtype(ctx, "out0", out0, input.scalar_type()) || !resize_like(ctx, out0, input) ||
      !expect_floating(ctx, "out1", out1) || !expect_floating(ctx, "out2", out2) ||
      !resize(ctx, out1, statistics) || !resize(ctx, out2, statistics)) {
    return result;
  }
  Normalization n;
  n.out = Strided(out0);
  n.in = Strided(input);
  n.weight = along(weight, n.in, 1);
  n.bias = along(bias, n.in, 1);
  for (Strided* memory : {&n.out, &n.in, &n.weight, &n.bias}) {
    if (memory->data) split_channels(*memory, group);
  }
  n.kept = 0b11;
  n.eps = eps;
  n.mean = Strided(out1);
  n.rstd = Strided(out2);
  normalize_regions(n);
  return result;
}

}  // namespace executorch::kernels::portable
