// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/conv/convolve.h>

#include <algorithm>

#include <executorch/kernels/portable/conv/depthwise.h>
#include <executorch/kernels/portable/conv/depthwise_plane.h>
#include <executorch/kernels/portable/conv/operands.h>
#include <executorch/kernels/portable/loops/strided.h>

namespace executorch::kernels::portable {

namespace {

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

/// Calls f(loops) for every phase that has outputs.
template <class F>
void for_each_phase(const ConvGeometry& g, F&& f) {
  for (int64_t z = 0; z < g.phases(0); ++z) {
    for (int64_t y = 0; y < g.phases(1); ++y) {
      for (int64_t x = 0; x < g.phases(2); ++x) {
        f(WindowLoops{{g.axis(0, z), g.axis(1, y), g.axis(2, x)}});
      }
    }
  }
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
void product_convolution(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Convolution& c) {
  const ConvGeometry& g = c.geometry;
  int64_t positions = 1;
  int64_t taps = 1;
  for (int d = 0; d < kSpatial; ++d) {
    const WindowAxis axis = g.axis(d, 0);  // the first phase has the most outputs
    positions *= axis.outputs;
    taps *= g.kernel[d];
  }
  const int64_t k = g.in_channels * taps;
  Gemm<T> gemm = c.channels_inside ? Gemm<T>(ctx, tile_of<T>(tiles), positions, g.out_channels, k)
                                   : Gemm<T>(ctx, tile_of<T>(tiles), g.out_channels, positions, k);
  for_each_phase(g, [&](const WindowLoops& loops) {
    if (loops.outputs() == 0) return;
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

template <class T>
void depthwise_convolution(KernelRuntimeContext& ctx, const GemmTiles& tiles,
                           const Convolution& c) {
  const ConvGeometry& g = c.geometry;
  for_each_phase(g, [&](const WindowLoops& loops) {
    DepthwisePlane<T> whole(ctx, tile_of<T>(tiles), loops, c.input.first);
    for (int64_t index = 0; index < g.batch * g.groups; ++index) {
      const int64_t n = index / g.groups, group = index % g.groups;
      const Plane image = c.input.plane(n, group);
      Plane result = c.out.plane(n, group * g.out_channels);
      WeightNest nest = c.weight.nest(group, loops, false);
      const MatrixView bias = group_bias(c, group);
      if (whole.ready()) whole.load_image(image);
      for (int64_t channel = 0; channel < g.out_channels; ++channel) {
        const T start =
            bias.data ? read<T>(bias.data + channel * bias.row_stride, bias.dtype) : T(0);
        if (whole.ready()) {
          whole.run(nest, start, result);
        } else {
          depthwise_channel<T>(image, nest, loops, start, result);
        }
        result.data += result.channel_stride;
        nest.data += nest.out_stride;
      }
    }
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

/// Whether the channels of the result are what lies closest together.
bool has_channels_inside(const Plane& out, const ConvGeometry& g) {
  for (int d = kSpatial - g.spatial; d < kSpatial; ++d) {
    if (g.out[d] > 1 && out.strides[d] <= out.channel_stride) return false;
  }
  return g.groups * g.out_channels > 1;
}

}  // namespace

void convolve(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& input,
              const Tensor& weight, const std::optional<Tensor>& bias,
              const ConvArguments& arguments, Tensor& out) {
  ConvGeometry g;
  if (!check_dtypes(ctx, input, weight, bias, out) ||
      !conv_geometry(ctx, input, weight, bias, arguments, &g) || !resize(ctx, out, g.out_shape())) {
    return;
  }
  Convolution c = {g,  Images(input, g.spatial), {Strided(weight), g},
                   {}, Images(out, g.spatial),   false};
  c.channels_inside = has_channels_inside(c.out.first, g);
  if (bias) {
    const Strided memory(*bias);
    c.bias = {memory.data, memory.dtype, memory.strides[0], 0};
  }
  visit_product_type(input.scalar_type(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if (g.in_channels == 1 && g.groups > 1) {
      depthwise_convolution<T>(ctx, tiles, c);
    } else {
      product_convolution<T>(ctx, tiles, c);
    }
  });
}

}  // namespace executorch::kernels::portable
