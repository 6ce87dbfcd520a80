// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution: its arguments checked and turned into loops, its matrix products and depthwise sums.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/conv/convolve.h>
#include <executorch/kernels/portable/conv/depthwise.h>
#include <executorch/runtime/kernel/parallel.h>

#include <algorithm>
#include <numeric>

namespace executorch::kernels::portable {
namespace {

// Tensors cannot have larger sizes, and the product of two smaller ones does not overflow.
constexpr int64_t kLimit = int64_t(1) << 31;

bool check_channels(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                    const std::optional<Tensor>& bias, const ConvArguments& a, ConvGeometry* g) {
  // Before the products, which a wild number of groups would overflow.
  if (!ET_EXPECT(ctx, a.groups > 0 && a.groups < kLimit,
                 "groups must be from 1 to 2^31 - 1, found %" PRId64, a.groups)) {
    return false;
  }
  const int64_t channels = input.size(g->batched ? 1 : 0);
  const int64_t split = g->transposed ? weight.size(0) : channels;
  const int64_t expected = g->transposed ? channels : weight.size(1) * a.groups;
  const int64_t outputs = g->transposed ? weight.size(1) * a.groups : weight.size(0);
  if (!ET_EXPECT(ctx, split == expected && split % a.groups == 0 && outputs % a.groups == 0,
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

bool product_fits(const int64_t* sizes) {
  return sizes[0] * sizes[1] < kLimit && sizes[0] * sizes[1] * sizes[2] < kLimit;
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
  const WindowLoops loops = {{g->axis(0, 0), g->axis(1, 0), g->axis(2, 0)}};
  return ET_EXPECT(ctx, loops.fit() && product_fits(g->kernel) && product_fits(g->in),
                   "a kernel of sizes %s and an input of sizes %s give too large an output",
                   ShapeText(weight).text, ShapeText(input).text);
}

struct Weights {
  Strided memory;
  const ConvGeometry& geometry;

  /// The weights of one group in one phase; k runs over the input channels outside or inside the
  /// taps.
  WeightNest nest(int64_t group, const WindowLoops& loops, bool channels_inside) const {
    const ConvGeometry& g = geometry;
    const int out_dim = g.transposed ? 1 : 0;
    const int64_t first = group * (g.transposed ? g.in_channels : g.out_channels);
    WeightNest nest;
    nest.data = memory.data + first * memory.strides[0];
    nest.dtype = memory.dtype;
    nest.out_stride = memory.strides[out_dim];
    const int channel = channels_inside ? kSpatial : 0;
    const int tap = channels_inside ? 0 : 1;
    nest.sizes[channel] = g.in_channels;
    nest.strides[channel] = memory.strides[1 - out_dim];
    for (int d = 0; d < kSpatial; ++d) {
      const WindowAxis& axis = loops.axis[d];
      const int from = d - (kSpatial - g.spatial);
      const int64_t stride = from < 0 ? 0 : memory.strides[2 + from];
      nest.data += axis.taps > 0 ? axis.tap_first * stride : 0;
      nest.sizes[tap + d] = axis.taps;
      nest.strides[tap + d] = axis.tap_step * stride;
    }
    return nest;
  }
};

struct Convolution {
  const ConvGeometry& geometry;
  Images input;
  Weights weight;
  MatrixView bias;  ///< row_stride between channels
  Images out;
  bool channels_inside;
};

MatrixView group_bias(const Convolution& c, int64_t group) {
  MatrixView bias = c.bias;
  if (bias.data) bias.data += group * c.geometry.out_channels * bias.row_stride;
  return bias;
}

/// Calls f(axis) for every phase of a dimension that has taps, at most one for each tap.
template <class F>
void for_each_axis(const ConvGeometry& g, int d, F&& f) {
  for (int64_t phase = 0; phase < g.phases(d); ++phase) {
    const WindowAxis axis = g.axis(d, phase);
    if (axis.taps > 0) f(axis);
  }
}

/// Calls f(loops) for every phase that has taps.
template <class F>
void for_each_phase(const ConvGeometry& g, F&& f) {
  for_each_axis(g, 0, [&](const WindowAxis& z) {
    for_each_axis(g, 1, [&](const WindowAxis& y) {
      for_each_axis(g, 2, [&](const WindowAxis& x) { f(WindowLoops{{z, y, x}}); });
    });
  });
}

/// True if outputs of a transposed convolution lie between its windows.
bool has_outputs_without_taps(const ConvGeometry& g) {
  for (int d = 0; d < kSpatial; ++d) {
    int64_t phases = 0;
    for_each_axis(g, d, [&](const WindowAxis&) { ++phases; });
    if (phases < g.phases(d)) return true;
  }
  return false;
}

/// Writes each channel's bias, or zero, to all outputs.
void fill_with_bias(KernelRuntimeContext& ctx, const ConvGeometry& g,
                    const std::optional<Tensor>& bias, const Tensor& out) {
  const Strided to(out);
  if (!bias) {
    fill(ctx, to, Scalar(0));
    return;
  }
  const Strided memory(*bias);
  Strided from = to;
  from.data = memory.data;
  std::fill(from.strides, from.strides + from.rank, 0);
  from.strides[g.batched ? 1 : 0] = memory.strides[0];
  copy(ctx, to, from);
}

template <class T>
void multiply(Gemm<T>& gemm, const Convolution& c, const WindowLoops& loops, const Plane& image,
              const WeightNest& nest, ConvSink<T>& sink) {
  const ConvGeometry& g = c.geometry;
  const int64_t k = g.in_channels * loops.taps();
  const int64_t single = nest.single_stride();
  const auto run = [&](const BlockSource<T>& weights) {
    if (c.channels_inside) {
      gemm.shrink(loops.outputs(), g.out_channels, k);
      gemm.run(PositionRows<T>(image, loops, g.in_channels), weights, sink);
    } else {
      gemm.shrink(g.out_channels, loops.outputs(), k);
      gemm.run(weights, TapRows<T>(image, loops), sink);
    }
  };
  if (single == 0) return run(WeightSource<T>(nest, c.channels_inside));
  const MatrixView rows = {nest.data, nest.dtype, nest.out_stride, single};
  const MatrixView columns = {nest.data, nest.dtype, single, nest.out_stride};
  run(MatrixSource<T>(c.channels_inside ? columns : rows));
}

template <class T>
void product_convolution(KernelRuntimeContext& ctx, const Convolution& c) {
  const ConvGeometry& g = c.geometry;
  int64_t positions = 1;
  int64_t taps = 1;
  for (int d = 0; d < kSpatial; ++d) {
    const WindowAxis axis = g.axis(d, 0);  // the first phase has the most outputs
    positions *= axis.outputs;
    taps *= g.kernel[d];
  }
  const int64_t k = g.in_channels * taps;
  Gemm<T> gemm = c.channels_inside
                     ? Gemm<T>(ctx, tile_of<T>(plain_gemm_tiles()), positions, g.out_channels, k)
                     : Gemm<T>(ctx, tile_of<T>(plain_gemm_tiles()), g.out_channels, positions, k);
  for_each_phase(g, [&](const WindowLoops& loops) {
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t group = 0; group < g.groups; ++group) {
        const Plane image = c.input.plane(n, group * g.in_channels);
        const Plane result = c.out.plane(n, group * g.out_channels);
        const MatrixView bias = group_bias(c, group);
        const WeightNest nest = c.weight.nest(group, loops, c.channels_inside);
        ConvSink<T> sink(result, loops, c.channels_inside, bias);
        multiply<T>(gemm, c, loops, image, nest, sink);
      }
    }
  });
}

/// The output channels of the input channels [begin, end), counted through the batch.
template <class T>
void depthwise_channels(const Convolution& c, const WindowLoops& loops, int64_t begin,
                        int64_t end) {
  const ConvGeometry& g = c.geometry;
  for (int64_t index = begin; index < end; ++index) {
    const int64_t n = index / g.groups, group = index % g.groups;
    const Plane image = c.input.plane(n, group);
    Plane result = c.out.plane(n, group * g.out_channels);
    WeightNest nest = c.weight.nest(group, loops, false);
    const MatrixView bias = group_bias(c, group);
    for (int64_t channel = 0; channel < g.out_channels; ++channel) {
      const T start = bias.data ? read<T>(bias.data + channel * bias.row_stride, bias.dtype) : T(0);
      depthwise_channel<T>(image, nest, loops, start, result);
      result.data += result.channel_stride;
      nest.data += nest.out_stride;
    }
  }
}

template <class T>
void depthwise_convolution(const Convolution& c) {
  const ConvGeometry& g = c.geometry;
  for_each_phase(g, [&](const WindowLoops& loops) {
    const int64_t channels = g.batch * g.groups;
    const int64_t work = channels * g.out_channels * loops.outputs() * loops.taps();
    const size_t parts =
        std::min(runtime::parallel_parts(size_t(work), kDepthwiseWork), size_t(channels));
    runtime::run_parallel(
        [&](size_t i) {
          depthwise_channels<T>(c, loops, channels * int64_t(i) / int64_t(parts),
                                channels * int64_t(i + 1) / int64_t(parts));
        },
        parts);
  });
}

bool check_dtypes(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                  const std::optional<Tensor>& bias, const Tensor& out) {
  const ScalarType dtype = input.scalar_type();
  return expect_same_dtype(ctx, "input", input, "weight", weight) &&
         (!bias || expect_same_dtype(ctx, "input", input, "bias", *bias)) &&
         expect_dtype(ctx, "out", out, dtype) &&
         ET_EXPECT(ctx, dtype != ScalarType::Bool && size_of(dtype) != 0,
                   "convolution takes numbers, found %s", name_of(dtype));
}

/// True if channels are the innermost dimension of the result.
bool has_channels_inside(const Plane& out, const ConvGeometry& g) {
  for (int d = kSpatial - g.spatial; d < kSpatial; ++d) {
    if (g.out[d] > 1 && out.strides[d] <= out.channel_stride) return false;
  }
  return g.groups * g.out_channels > 1;
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
  const int64_t first = engine::first_multiple(dilation[d], phase + padding[d], stride[d]);
  const int64_t tap = first < 0 || first >= kernel[d] ? kernel[d] : first;
  const int64_t taps = tap < kernel[d] ? (kernel[d] - 1 - tap) / tap_step + 1 : 0;
  return {in[d],    (out[d] - 1 - phase) / stride[d] + 1,
          phase,    stride[d],
          taps,     tap,
          tap_step, (phase + padding[d] - tap * dilation[d]) / stride[d],
          1,        -(tap_step * dilation[d] / stride[d])};
}

ConvGeometry ConvGeometry::adjoint() const {
  ConvGeometry g = *this;
  g.transposed = !transposed;
  std::swap(g.in_channels, g.out_channels);
  for (int d = 0; d < kSpatial; ++d) std::swap(g.in[d], g.out[d]);
  return g;
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

void convolve(KernelRuntimeContext& ctx, FloatConvolution fast, const ConvGeometry& g,
              const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
              Tensor& out) {
  if (out.numel() == 0) return;
  const ScalarType dtype = input.scalar_type();
  // Padding alone, around an image without pixels, has outputs: the fast function needs pixels.
  const bool is_fast =
      fast != nullptr && input.numel() > 0 && is_floating(dtype) && dtype != ScalarType::Double;
  if (is_fast && fast(ctx, g, input, weight, bias, out)) return;
  Convolution c = {g,  Images(input, g.spatial), {Strided(weight), g},
                   {}, Images(out, g.spatial),   false};
  c.channels_inside = has_channels_inside(c.out.first, g);
  if (has_outputs_without_taps(g)) fill_with_bias(ctx, g, bias, out);
  if (bias) {
    const Strided memory(*bias);
    c.bias = {memory.data, memory.dtype, memory.strides[0], 0};
  }
  visit_product_type(dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if (g.in_channels == 1 && g.groups > 1) {
      depthwise_convolution<T>(c);
    } else {
      product_convolution<T>(ctx, c);
    }
  });
}

void convolve(KernelRuntimeContext& ctx, FloatConvolution fast, const Tensor& input,
              const Tensor& weight, const std::optional<Tensor>& bias,
              const ConvArguments& arguments, Tensor& out) {
  ConvGeometry g;
  if (check_dtypes(ctx, input, weight, bias, out) &&
      conv_geometry(ctx, input, weight, bias, arguments, &g) && resize(ctx, out, g.out_shape())) {
    convolve(ctx, fast, g, input, weight, bias, out);
  }
}

Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, ArrayRef<int64_t> stride,
                        ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool transposed,
                        ArrayRef<int64_t> output_padding, int64_t groups, Tensor& out) {
  convolve(ctx, nullptr, input, weight, bias,
           {stride, padding, dilation, transposed, output_padding, groups}, out);
  return out;
}

}  // namespace executorch::kernels::portable
