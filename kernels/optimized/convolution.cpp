// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of float32 by the engine, in the layout that the tensors have.
#include <algorithm>

#include <executorch/kernels/engine/conv/patches.h>
#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/engine/pack/pack.h>
#include <executorch/kernels/engine/planes/planes.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/conv_call.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/optimized/product.h>
#include <executorch/kernels/portable/conv/convolve.h>

namespace executorch::kernels::optimized {
namespace {

using engine::Conv2d;
using engine::Conv2dParams;
using engine::ConvWeights;
using engine::ImageSize;
using portable::ConvGeometry;

constexpr int64_t kSize = sizeof(float);
/// Winograd transforms the weights at every call, which pays off from this number of outputs on
/// (measured by test/benchmark/kernels.py convolution).
constexpr int64_t kOutputsWorthWinograd = 14 * 14;

/// The memory of images: one spatial dimension is the width of a line.
bool is_nchw(const Tensor& tensor) { return in_index_order(Strided(tensor)); }
bool is_nhwc(const Tensor& tensor, const ConvGeometry& g) {
  return g.batched && g.spatial == 2 && in_channels_last_order(Strided(tensor));
}

ImageLayout layout_of(const Tensor& input, const Tensor& out, const ConvGeometry& g) {
  if (is_nchw(input) && is_nchw(out)) return ImageLayout::Nchw;
  return is_nhwc(input, g) && is_nhwc(out, g) ? ImageLayout::Nhwc : ImageLayout::Other;
}

/// Describes the weights to the engine. Returns false if outputs of one group and outputs of
/// neighboring groups have different distances, which the engine does not support.
bool weights_of(const ConvGeometry& g, const Strided& memory, const ConvCall& c, ConvWeights* to) {
  const int64_t width = memory.element_size();
  const int64_t outer = memory.strides[0] / width, inner = memory.strides[1] / width;
  to->data = c.weight;
  to->bias = c.bias;
  to->output_stride = size_t(g.transposed ? inner : outer);
  to->input_stride = size_t(g.transposed ? outer : inner);
  to->y_stride = g.spatial == 2 ? size_t(memory.strides[2] / width) : 0;
  to->x_stride = size_t(memory.strides[g.spatial + 1] / width);
  if (!g.transposed || g.groups == 1) return true;
  if (g.out_channels == 1) {
    to->output_stride = size_t(g.in_channels * outer);
    return true;
  }
  return g.in_channels * outer == g.out_channels * inner;
}

size_t aligned(size_t bytes) { return engine::round_up(bytes, engine::kAlignment); }

/// Depthwise convolutions of NCHW images in place.
bool by_planes(KernelRuntimeContext& ctx, const ConvCall& c) {
  KernelThreads threads(c.work(), kMinDepthwiseWork);
  auto call = c.in_place_call<engine::PlanesCall>();
  call.scratch = scratch_for(ctx, threads, [&](size_t count) {
    return engine::planes_scratch_bytes(c.p, c.size(), count);
  });
  if (call.scratch == nullptr) return false;
  engine::convolve_planes(c.p, call, threads);
  return true;
}

/// Calls compute(input, output, scratch memory of bytes_of(threads), threads). If `transposes`,
/// input and output are copies in the other layout. Returns false without memory for them.
template <class BytesOf, class Compute>
bool on_images(KernelRuntimeContext& ctx, const ConvCall& c, bool is_nchw, bool transposes,
               BytesOf&& bytes_of, Compute&& compute) {
  KernelThreads threads(c.work(), c.is_depthwise() ? kMinDepthwiseWork : kMinProductWork);
  const size_t batch = size_t(c.g.batch), pixels = c.size().height * c.size().width;
  const size_t in_bytes = transposes ? aligned(batch * pixels * c.inputs() * kSize) : 0;
  const size_t out_bytes = transposes ? aligned(batch * c.outputs() * c.channels() * kSize) : 0;
  void* const memory = scratch_for(
      ctx, threads, [&](size_t count) { return in_bytes + out_bytes + bytes_of(count); });
  if (memory == nullptr) return false;
  const auto transpose = [&](size_t rows, size_t columns, bool swaps, const float* from,
                             float* to) {
    engine::TransposeCall copy;
    copy.batch = batch;
    copy.rows = swaps ? columns : rows;
    copy.columns = swaps ? rows : columns;
    copy.in = reinterpret_cast<const uint32_t*>(from);
    copy.out = reinterpret_cast<uint32_t*>(to);
    engine::transpose_32bit(copy, threads);
  };
  auto* const input = static_cast<float*>(memory);
  float* const output = input + in_bytes / kSize;
  float* const scratch = output + out_bytes / kSize;
  if (!transposes) {
    compute(c.input, c.out, scratch, threads);
    return true;
  }
  transpose(c.inputs(), pixels, !is_nchw, c.input, input);
  compute(input, output, scratch, threads);
  transpose(c.outputs(), c.channels(), !is_nchw, output, c.out);
  return true;
}

/// Products of unpacked weights and patches of NCHW images.
bool by_patches(KernelRuntimeContext& ctx, const ConvCall& c, bool is_nchw) {
  return on_images(
      ctx, c, is_nchw, !is_nchw,
      [&](size_t count) { return engine::patches_scratch_bytes(c.p, c.size(), count); },
      [&](const float* input, float* output, float* scratch, KernelThreads& threads) {
        auto call = c.in_place_call<engine::NchwCall>();
        call.in = input;
        call.out = output;
        call.scratch = scratch;
        engine::convolve_patches(c.p, call, threads);
      });
}

/// A window over the whole image: a product of a matrix and a vector for each image and group.
/// Whole products for each thread where there are enough, else all threads on each.
void convolve_one_window(const ConvCall& c) {
  const size_t depth = c.p.group_inputs * c.p.kernel_height * c.p.kernel_width;
  const size_t products = size_t(c.g.batch) * c.p.groups, outputs = c.p.group_outputs;
  const auto multiply = [&](size_t i, engine::Threads& threads) {
    const size_t group = i % c.p.groups;
    engine::FewRowsCall call;
    call.rows = 1;
    call.columns = outputs;
    call.depth = depth;
    call.left = c.input + i * depth;
    call.left_stride = depth;
    call.right = {c.weight + group * outputs * depth, 1, depth};
    call.out = c.out + i * outputs;
    call.out_stride = outputs;
    engine::multiply_few_rows(call, threads);
    for (size_t o = 0; c.bias != nullptr && o < outputs; ++o) {
      call.out[o] += c.bias[group * outputs + o];
    }
  };
  KernelThreads threads(c.work(), kMinFewRowsWork);
  if (products >= threads.count()) {
    engine::for_each_item(threads, products, [&](size_t i, size_t) {
      engine::CallingThread thread;
      multiply(i, thread);
    });
    return;
  }
  for (size_t i = 0; i < products; ++i) multiply(i, threads);
}

/// Packs the weights, for NHWC images.
bool by_packing(KernelRuntimeContext& ctx, const ConvCall& c, const Conv2d& plan,
                const ConvWeights& weights, bool is_nchw) {
  const size_t batch = size_t(c.g.batch);
  return on_images(
      ctx, c, is_nchw, is_nchw,
      [&](size_t count) {
        return aligned(plan.packed_bytes()) + plan.scratch_bytes(batch, c.size(), count);
      },
      [&](const float* input, float* output, float* packed, KernelThreads& threads) {
        plan.pack(weights, packed, threads);
        engine::Conv2dCall call;
        call.batch = batch;
        call.input_size = c.size();
        call.input = input;
        call.input_pixel_stride = c.inputs();
        call.packed = packed;
        call.output = output;
        call.output_pixel_stride = c.channels();
        call.scratch = packed + aligned(plan.packed_bytes()) / kSize;
        plan.run(call, threads);
      });
}

/// Windows of one point, for NHWC images: a product of the pixels.
bool by_product(KernelRuntimeContext& ctx, const ConvCall& c) {
  engine::BatchMatmulCall call;
  call.rows = size_t(c.g.batch) * c.outputs();
  call.columns = c.channels();
  call.depth = c.inputs();
  call.left = c.input;
  call.left_stride = c.inputs();
  call.right = {c.weight, 1, c.inputs()};
  call.bias = c.bias;
  call.out = c.out;
  call.out_stride = c.channels();
  KernelThreads threads(c.work(), kMinProductWork);
  void* const scratch = scratch_for(
      ctx, threads, [&](size_t count) { return engine::batch_matmul_scratch_bytes(call, count); });
  if (scratch == nullptr) return false;
  engine::batch_matmul(call, scratch, threads);
  return true;
}

}  // namespace

Conv2dParams params_of(const ConvGeometry& g) {
  Conv2dParams p;
  p.groups = size_t(g.groups);
  p.group_inputs = size_t(g.in_channels);
  p.group_outputs = size_t(g.out_channels);
  p.kernel_height = size_t(g.kernel[1]);
  p.kernel_width = size_t(g.kernel[2]);
  p.stride_height = size_t(g.stride[1]);
  p.stride_width = size_t(g.stride[2]);
  p.dilation_height = size_t(g.dilation[1]);
  p.dilation_width = size_t(g.dilation[2]);
  p.pad_top = p.pad_bottom = size_t(g.padding[1]);
  p.pad_left = p.pad_right = size_t(g.padding[2]);
  p.transposed = g.transposed;
  if (g.transposed) {
    const ImageSize size = engine::output_size(p, {size_t(g.in[1]), size_t(g.in[2])});
    p.output_pad_height = size_t(g.out[1]) - size.height;
    p.output_pad_width = size_t(g.out[2]) - size.width;
  }
  return p;
}

bool convolve_float32(KernelRuntimeContext& ctx, const ConvCall& call, const Strided& weight,
                      ImageLayout layout) {
  const ConvGeometry& g = call.g;
  ConvWeights weights = {};
  if (!weights_of(g, weight, call, &weights)) return false;
  const bool is_planar = layout == ImageLayout::Nchw;
  const Conv2d plan = Conv2d::plan(call.p, size_t(g.batch), call.size());
  const Conv2d direct = plan.without_winograd();
  const bool are_in_order = !g.transposed && in_index_order(weight);
  if (plan.algorithm() == engine::ConvAlgorithm::Winograd &&
      int64_t(call.outputs()) >= kOutputsWorthWinograd && plan.accepts(weights)) {
    return by_packing(ctx, call, plan, weights, is_planar);
  }
  if (!are_in_order) return by_packing(ctx, call, direct, weights, is_planar);
  if (!is_planar) {
    if (direct.algorithm() == engine::ConvAlgorithm::Product) return by_product(ctx, call);
    return call.has_many_weights() ? by_patches(ctx, call, false)
                                   : by_packing(ctx, call, direct, weights, false);
  }
  if (call.is_depthwise() && g.out_channels == 1) {
    return engine::planes_are_faster(call.p, call.size())
               ? by_planes(ctx, call)
               : by_packing(ctx, call, plan, weights, true);
  }
  const bool reads_all = g.in[1] == g.kernel[1] && g.in[2] == g.kernel[2] && g.padding[1] == 0 &&
                         g.padding[2] == 0 && g.dilation[1] == 1 && g.dilation[2] == 1;
  if (reads_all) {
    convolve_one_window(call);
    return true;
  }
  // Patches of few outputs cost more than weights.
  const bool are_weights_few = int64_t(call.outputs()) > g.out_channels;
  return g.groups == 1 || !are_weights_few ? by_patches(ctx, call, true)
                                           : by_packing(ctx, call, direct, weights, true);
}

namespace {

/// Limits the engine's memory for a convolution. Computes sizes in double, which does not wrap
/// around: a program chooses padding, strides and dilations freely.
bool fits_engine(const ConvGeometry& g) {
  constexpr double kMaxBytes = double(SIZE_MAX / 2), kMaxPhases = 1 << 16;
  // Limit of the copies of padded images: this many elements, or this multiple of the tensors.
  constexpr double kSmallImages = 1 << 20, kTimesTensors = 64;
  constexpr double kMaxThreads = 64, kMaxPanel = 32, kFrequencies = 16, kMaxRows = 64;
  double padded = 1, inputs = 1, outputs = 1, taps = 1, phases = 1;
  for (int d = 1; d < kSpatial; ++d) {
    padded *= double(g.in[d]) + 2 * double(g.padding[d]) + double(g.stride[d]);
    inputs *= double(g.in[d]);
    outputs *= double(g.out[d]);
    taps *= double(g.kernel[d]);
    phases *= g.transposed ? double(g.stride[d]) : 1;
  }
  const double channels = double(g.groups) * double(g.in_channels);
  const double results = double(g.groups) * (double(g.out_channels) + kMaxPanel);
  const double tensors = inputs * channels + outputs * results;
  const double images = g.transposed ? inputs * channels : padded * channels;
  const double weights = results * (phases + taps * double(g.in_channels));
  const double pointers = (outputs + kMaxRows) * taps;
  const double plane = g.transposed ? 0 : padded;
  const double all = images + kFrequencies * weights + kMaxThreads * (2 * plane + 2 * pointers);
  return phases <= kMaxPhases && all * 2 * sizeof(double) <= kMaxBytes &&
         images <= std::max(kSmallImages, kTimesTensors * tensors);
}

/// A portable::FloatConvolution.
bool convolve_floats(KernelRuntimeContext& ctx, const ConvGeometry& g, const Tensor& input,
                     const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out) {
  const ImageLayout layout = layout_of(input, out, g);
  if (g.spatial == 3 || layout == ImageLayout::Other || !fits_engine(g) ||
      (bias && !in_index_order(Strided(*bias)))) {
    return false;
  }
  const Strided weights(weight);
  if (input.scalar_type() != ScalarType::Float) {
    return convolve_reduced(ctx, g, input, weights, bias, layout, out);
  }
  const auto* const biases =
      bias ? static_cast<const float*>(bias->const_data_ptr()) : static_cast<const float*>(nullptr);
  const ConvCall call = {g,
                         params_of(g),
                         static_cast<const float*>(input.const_data_ptr()),
                         reinterpret_cast<const float*>(weights.data),
                         biases,
                         static_cast<float*>(out.mutable_data_ptr())};
  return convolve_float32(ctx, call, weights, layout);
}

}  // namespace

Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, ArrayRef<int64_t> stride,
                        ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool transposed,
                        ArrayRef<int64_t> output_padding, int64_t groups, Tensor& out) {
  portable::convolve(ctx, convolve_floats, input, weight, bias,
                     {stride, padding, dilation, transposed, output_padding, groups}, out);
  return out;
}

}  // namespace executorch::kernels::optimized
