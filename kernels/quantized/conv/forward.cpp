// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions on int8.
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/conv/depthwise_plane.h>
#include <executorch/kernels/quantized/conv/layer_product.h>
#include <executorch/kernels/quantized/int8/operands.h>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

#if ET_PAIRED_PRODUCTS
void multiply_depthwise(KernelRuntimeContext& ctx, const FusedLayer& layer, const Images& images,
                        const Images& results) {
  const ConvGeometry& g = layer.geometry;
  const DepthwisePlane plane(integer_loops(), layer);
  Division division(g.groups, 1,
                    g.groups * g.out_channels * layer.windows.outputs() * layer.windows.taps(),
                    kMinProducts);
  char* const memory = part_rooms(ctx, division, plane.room());
  if (memory == nullptr) return;
  for (int64_t n = 0; n < g.batch; ++n) {
    division.run([&](int64_t part, int64_t begin, int64_t end) {
      plane.run(images.plane(n, 0), results.plane(n, 0), begin, end, memory + part * plane.room());
    });
  }
}
#endif

}  // namespace

/// out = round(acc * scales[channel] + offsets[channel]) + out_zero_point, acc being the exact
/// convolution of integers, with input_zero_point as padding.
Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t input_zero,
                        const Tensor& weight, const Tensor& scales, const Tensor& offsets,
                        ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,
                        ArrayRef<int64_t> dilation, int64_t groups, int64_t out_zero,
                        int64_t out_min, int64_t out_max, Tensor& out) {
  ConvGeometry g;
  const ConvArguments arguments = {stride, padding, dilation, false, {}, groups};
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "out", out) ||
      !expect_limits(ctx, out_zero, out_min, out_max) || !expect_input_zero(ctx, input_zero) ||
      !expect_weights(ctx, weight, scales, offsets) ||
      !conv_geometry(ctx, input, weight, std::nullopt, arguments, &g) ||
      !resize(ctx, out, g.out_shape()) || out.numel() == 0) {
    return out;
  }
  const FusedLayer layer = {g,
                            {{g.axis(0, 0), g.axis(1, 0), g.axis(2, 0)}},
                            weight.const_data_ptr<int8_t>(),
                            scales.const_data_ptr<float>(),
                            offsets.const_data_ptr<float>(),
                            Limits(out_zero, out_min, out_max),
                            static_cast<int8_t>(input_zero)};
  const Images images(input, g.spatial), results(out, g.spatial);
#if ET_PAIRED_PRODUCTS
  if (DepthwisePlane::supports(g)) {
    multiply_depthwise(ctx, layer, images, results);
    return out;
  }
#endif
  const LayerProduct product(ctx, layer);
  if (product.ready()) product.run(layer, images, results);
  return out;
}

}  // namespace executorch::kernels::quantized
