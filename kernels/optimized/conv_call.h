// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions with arguments that the engine can take.
#pragma once

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/portable/conv/convolve.h>

namespace executorch::kernels::optimized {

/// Multiplications worth the start of a thread: of depthwise sums some 8 us.
inline constexpr size_t kMinDepthwiseWork = 1 << 16;

/// The memory of images.
enum class ImageLayout : uint8_t { Nchw, Nhwc, Other };

engine::Conv2dParams params_of(const portable::ConvGeometry& geometry);

/// A convolution of contiguous float32 images.
struct ConvCall {
  const portable::ConvGeometry& g;
  const engine::Conv2dParams p;
  const float* input;
  const float* weight;
  const float* bias;
  float* out;

  engine::ImageSize size() const { return {size_t(g.in[1]), size_t(g.in[2])}; }
  size_t outputs() const { return size_t(g.out[1] * g.out[2]); }
  size_t inputs() const { return p.groups * p.group_inputs; }
  size_t channels() const { return p.groups * p.group_outputs; }
  bool is_depthwise() const { return g.in_channels == 1 && g.groups > 1; }
  size_t work() const {
    return size_t(g.batch) * p.groups * p.group_outputs * outputs() * p.group_inputs *
           p.kernel_height * p.kernel_width;
  }
  /// True if weights take longer to pack than images to transpose and back. Never for patches of
  /// one point, whose products are slower than packing (`python test/benchmark/undelegated.py`).
  bool has_many_weights() const {
    const size_t taps = p.kernel_height * p.kernel_width;
    const size_t images = size().height * size().width * inputs() + outputs() * channels();
    return p.groups == 1 && taps > 1 && p.group_inputs * taps * channels() > 2 * images;
  }
  /// The engine's call of these images and weights, without scratch memory.
  template <class EngineCall>
  EngineCall in_place_call() const {
    EngineCall call;
    call.batch = size_t(g.batch);
    call.input_size = size();
    call.in = input;
    call.weights = weight;
    call.bias = bias;
    call.out = out;
    return call;
  }
};

/// Convolves images of a layout other than Other. `weight`: sizes and strides of the weights, which
/// may be those of another dtype. Returns false, without a result, if the engine cannot read
/// weights of these strides, or if temporary memory is missing.
bool convolve_float32(KernelRuntimeContext& ctx, const ConvCall& call, const Strided& weight,
                      ImageLayout layout);

/// Convolves float16 or bfloat16 in float32, rounding each result once. Returns false as
/// convolve_float32() does.
bool convolve_reduced(KernelRuntimeContext& ctx, const portable::ConvGeometry& geometry,
                      const Tensor& input, const Strided& weight, const std::optional<Tensor>& bias,
                      ImageLayout layout, Tensor& out);

}  // namespace executorch::kernels::optimized
