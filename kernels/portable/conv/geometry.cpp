// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/conv/geometry.h>

#include <algorithm>
#include <numeric>

namespace executorch::kernels::portable {

namespace {

// Larger sizes cannot be held, and products of two below it cannot overflow.
constexpr int64_t kLimit = int64_t(1) << 31;

bool check_channels(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                    const std::optional<Tensor>& bias, const ConvArguments& a, ConvGeometry* g) {
  // Before the products, which a wild number of groups would overflow.
  if (!ET_EXPECT(ctx, a.groups > 0 && a.groups < kLimit, "groups must be positive, found %" PRId64,
                 a.groups)) {
    return false;
  }
  const int64_t channels = input.size(g->batched ? 1 : 0);
  const int64_t split = g->transposed ? weight.size(0) : channels;
  const int64_t found = g->transposed ? channels : weight.size(1) * a.groups;
  const int64_t outputs = g->transposed ? weight.size(1) * a.groups : weight.size(0);
  if (!ET_EXPECT(ctx, split == found && split % a.groups == 0 && outputs % a.groups == 0,
                 "input of sizes %s and weight of sizes %s do not fit %" PRId64 " groups",
                 ShapeText(input).text, ShapeText(weight).text, a.groups)) {
    return false;
  }
  g->groups = a.groups;
  g->in_channels = split / a.groups;
  g->out_channels = outputs / a.groups;
  return !bias ||
         ET_EXPECT(ctx, bias->dim() == 1 && bias->size(0) == outputs,
                   "bias must have sizes [%" PRId64 "], found %s", outputs, ShapeText(*bias).text);
}

bool check_outputs(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const int64_t* output_padding, ConvGeometry* g) {
  for (int d = 0; d < kSpatial; ++d) {
    const int64_t reach = g->dilation[d] * (g->kernel[d] - 1) + 1;
    if (g->transposed) {
      if (!ET_EXPECT(ctx, output_padding[d] < std::max(g->stride[d], g->dilation[d]),
                     "output_padding must be below stride or dilation, found %" PRId64,
                     output_padding[d])) {
        return false;
      }
      g->out[d] = (g->in[d] - 1) * g->stride[d] - 2 * g->padding[d] + reach + output_padding[d];
    } else {
      const int64_t room = g->in[d] + 2 * g->padding[d] - reach;
      g->out[d] = room < 0 ? 0 : room / g->stride[d] + 1;
    }
    if (!ET_EXPECT(ctx, g->kernel[d] > 0 && g->out[d] > 0 && g->out[d] < kLimit,
                   "a kernel of sizes %s leaves no output for an input of sizes %s",
                   ShapeText(weight).text, ShapeText(input).text)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Shape ConvGeometry::out_shape() const {
  Shape shape;
  if (batched) shape.append(batch);
  shape.append(groups * out_channels);
  for (int d = kSpatial - spatial; d < kSpatial; ++d) shape.append(out[d]);
  return shape;
}

int64_t ConvGeometry::phases(int d) const { return transposed ? std::min(stride[d], out[d]) : 1; }

WindowAxis ConvGeometry::axis(int d, int64_t phase) const {
  if (!transposed) {
    return {in[d], out[d], 0, 1, kernel[d], 0, 1, -padding[d], stride[d], dilation[d]};
  }
  // Output o meets input i through tap t where o + padding = i * stride + t * dilation.
  const int64_t tap_step = stride[d] / std::gcd(stride[d], dilation[d]);
  int64_t tap = 0;
  while (tap < kernel[d] && (phase + padding[d] - tap * dilation[d]) % stride[d] != 0) ++tap;
  const int64_t taps = tap < kernel[d] ? (kernel[d] - 1 - tap) / tap_step + 1 : 0;
  return {in[d],    (out[d] - 1 - phase) / stride[d] + 1,
          phase,    stride[d],
          taps,     tap,
          tap_step, (phase + padding[d] - tap * dilation[d]) / stride[d],
          1,        -(tap_step * dilation[d] / stride[d])};
}

bool conv_geometry(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, const ConvArguments& a, ConvGeometry* g) {
  const int spatial = int(weight.dim()) - 2;
  if (!ET_EXPECT(ctx, spatial >= 1 && spatial <= kSpatial,
                 "weight must have 3 to 5 dimensions, found sizes %s", ShapeText(weight).text) ||
      !ET_EXPECT(ctx, input.dim() == spatial + 2 || input.dim() == spatial + 1,
                 "input of sizes %s does not fit weight of sizes %s", ShapeText(input).text,
                 ShapeText(weight).text)) {
    return false;
  }
  g->transposed = a.transposed;
  g->spatial = spatial;
  g->batched = input.dim() == spatial + 2;
  g->batch = g->batched ? input.size(0) : 1;
  for (int d = 0; d < kSpatial; ++d) {
    const int from = d - (kSpatial - spatial);
    g->in[d] = from < 0 ? 1 : input.size(input.dim() - spatial + from);
    g->kernel[d] = from < 0 ? 1 : weight.size(2 + from);
  }
  int64_t output_padding[kSpatial] = {0, 0, 0};
  return expect_spatial_list(ctx, "stride", a.stride, spatial, 1, 1, g->stride) &&
         expect_spatial_list(ctx, "padding", a.padding, spatial, 0, 0, g->padding) &&
         expect_spatial_list(ctx, "dilation", a.dilation, spatial, 1, 1, g->dilation) &&
         (!a.transposed || expect_spatial_list(ctx, "output_padding", a.output_padding, spatial, 0,
                                               0, output_padding)) &&
         check_channels(ctx, input, weight, bias, a, g) &&
         check_outputs(ctx, input, weight, output_padding, g);
}

}  // namespace executorch::kernels::portable
