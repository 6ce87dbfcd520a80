// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of float16 and bfloat16. Pointwise and depthwise ones are converted to float32 in
// parts that stay in the cache, others as a whole.
#include <executorch/kernels/engine/conv/patches.h>
#include <executorch/kernels/engine/planes/planes.h>
#include <executorch/kernels/engine/scratch_size.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/optimized/conv_call.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/optimized/product.h>

#include <algorithm>

namespace executorch::kernels::optimized {
namespace {

using engine::Conv2dParams;
using portable::ConvGeometry;

constexpr int64_t kSize = sizeof(float);
/// Number of elements from which on a further thread shortens the conversion.
constexpr size_t kMinConversion = 1 << 16;
/// Elements of the planes that are converted together; input and result fit the second-level cache.
constexpr size_t kElementsOfPlanes = 1 << 14;
/// Elements of the pixels that a pointwise convolution converts together: a multiple of kPixelStep
/// pixels.
constexpr size_t kElementsOfPixels = 1 << 16, kPixelStep = 64;

struct ReducedConvolution {
  const ConvGeometry& g;
  ScalarType dtype;
  ImageLayout layout;
  const char* input;
  const Strided& weight;
  const char* bias;
  char* out;
  Convert widen, narrow;

  int64_t width() const { return width_of(dtype); }
  int64_t pixels() const { return g.out[0] * g.out[1] * g.out[2]; }
  void read(const char* from, size_t count, float* to) const {
    widen(reinterpret_cast<char*>(to), kSize, from, width(), int64_t(count));
  }
  void write(const float* from, size_t count, char* to) const {
    narrow(to, width(), reinterpret_cast<const char*>(from), kSize, int64_t(count));
  }
};

/// Saturates: on 32-bit systems, the bytes of a converted operand may exceed size_t.
size_t bytes_of(size_t floats) {
  return engine::round_up(engine::limited_product(floats, kSize), engine::kAlignment);
}

bool is_pointwise(const ConvGeometry& g) {
  bool is_plain = g.groups == 1 && !g.transposed;
  for (int d = 0; d < kSpatial; ++d) {
    is_plain = is_plain && g.kernel[d] == 1 && g.stride[d] == 1 && g.padding[d] == 0;
  }
  return is_plain;
}

/// Calls f(first, count) for runs of elements that are divided between the threads.
template <class F>
void for_each_run(size_t count, F&& f) {
  KernelThreads threads(count, kMinConversion);
  engine::for_each_item(threads, engine::divide_up(count, kMinConversion),
                        [&](size_t item, size_t) {
                          const size_t first = item * kMinConversion;
                          f(first, std::min(kMinConversion, count - first));
                        });
}

/// The number of elements from the first to the last one in memory.
size_t extent(const Strided& memory) {
  if (memory.numel() == 0) return 0;
  int64_t bytes = memory.element_size();
  for (int d = 0; d < memory.rank; ++d) bytes += (memory.sizes[d] - 1) * memory.strides[d];
  return size_t(bytes / memory.element_size());
}

bool convolve_converted(KernelRuntimeContext& ctx, const ReducedConvolution& c,
                        const Conv2dParams& params) {
  const ConvGeometry& g = c.g;
  const size_t images = size_t(g.batch * g.groups);
  const size_t outputs = images * size_t(g.out_channels * c.pixels());
  const size_t biases = c.bias == nullptr ? 0 : size_t(g.groups * g.out_channels);
  struct Operand {
    const char* from;
    size_t count;
    float* floats;
  } operands[] = {{c.input, images * size_t(g.in_channels * g.in[1] * g.in[2]), nullptr},
                  {c.weight.data, extent(c.weight), nullptr},
                  {c.bias, biases, nullptr}};
  size_t bytes = bytes_of(outputs);
  for (const Operand& operand : operands) {
    bytes = engine::limited_sum(bytes, bytes_of(operand.count));
  }
  if (bytes >= engine::kMaxScratch) return false;
  const auto memory = ctx.allocate_temp(bytes, engine::kAlignment);
  if (!memory.ok()) return false;
  char* to = static_cast<char*>(*memory);
  for (Operand& operand : operands) {
    operand.floats = reinterpret_cast<float*>(to);
    to += bytes_of(operand.count);
    for_each_run(operand.count, [&](size_t first, size_t count) {
      c.read(operand.from + int64_t(first) * c.width(), count, operand.floats + first);
    });
  }
  float* const results = reinterpret_cast<float*>(to);
  const float* const bias = c.bias == nullptr ? nullptr : operands[2].floats;
  const ConvCall call = {g, params, operands[0].floats, operands[1].floats, bias, results};
  if (!convolve_float32(ctx, call, c.weight, c.layout)) return false;
  for_each_run(outputs, [&](size_t first, size_t count) {
    c.write(results + first, count, c.out + int64_t(first) * c.width());
  });
  return true;
}

/// Pixels of NHWC images, or images of one pixel: a product of their channels and the weights.
bool multiply_channels(KernelRuntimeContext& ctx, const ReducedConvolution& c) {
  const ConvGeometry& g = c.g;
  const int64_t width = c.width(), pixels = g.batch * c.pixels();
  const auto images = [&](const char* data, int64_t channels) {
    const MatrixView view = {const_cast<char*>(data), c.dtype, channels * width, width};
    return portable::Batch{view, 0, 1, pixels, channels};
  };
  const MatrixView weights = {c.weight.data, c.dtype, c.weight.strides[1], c.weight.strides[0]};
  const MatrixView biases = {const_cast<char*>(c.bias), c.dtype, 0, width};
  return multiply_reduced(ctx, {images(c.input, g.in_channels),
                                {weights, 0, 1, g.in_channels, g.out_channels},
                                {biases, 0, 1, pixels, g.out_channels},
                                images(c.out, g.out_channels),
                                Scalar(int64_t(1)),
                                Scalar(int64_t(1))});
}

/// Pointwise, some pixels of an NCHW image at a time.
bool convolve_pixels(KernelRuntimeContext& ctx, const ReducedConvolution& c, Conv2dParams params) {
  const ConvGeometry& g = c.g;
  const size_t inputs = params.group_inputs, outputs = params.group_outputs;
  const size_t pixels = size_t(c.pixels()), batch = size_t(g.batch);
  const size_t cached = kElementsOfPixels / (inputs + outputs) / kPixelStep * kPixelStep;
  const size_t block = std::min(std::max(cached, kPixelStep), pixels);
  const size_t blocks = engine::divide_up(pixels, block);
  KernelThreads threads(batch * pixels * inputs * outputs, kMinProductWork);
  if (batch * blocks < threads.count()) return convolve_converted(ctx, c, params);
  const size_t constants = bytes_of(inputs * outputs) + bytes_of(outputs);
  const size_t scratch = engine::patches_scratch_bytes(params, {1, block}, 1);
  const size_t worker_bytes = bytes_of(block * inputs) + bytes_of(block * outputs) +
                              engine::round_up(scratch, engine::kAlignment);
  char* const memory = static_cast<char*>(
      scratch_for(ctx, threads, [&](size_t count) { return constants + count * worker_bytes; }));
  if (memory == nullptr) return false;
  float* const weights = reinterpret_cast<float*>(memory);
  float* const biases = reinterpret_cast<float*>(memory + bytes_of(inputs * outputs));
  c.read(c.weight.data, inputs * outputs, weights);
  if (c.bias != nullptr) c.read(c.bias, outputs, biases);
  engine::for_each_item(threads, batch * blocks, [&](size_t item, size_t worker) {
    char* const buffers = memory + constants + worker * worker_bytes;
    const size_t image = item / blocks, first = item % blocks * block;
    const size_t count = std::min(block, pixels - first);
    float* const images = reinterpret_cast<float*>(buffers);
    float* const results = reinterpret_cast<float*>(buffers + bytes_of(block * inputs));
    const auto place = [&](size_t channels, size_t channel) {
      return int64_t((image * channels + channel) * pixels + first) * c.width();
    };
    // Channels of whole images follow each other.
    const size_t run = blocks == 1 ? pixels * inputs : count;
    for (size_t at = 0; at < count * inputs; at += run) {
      c.read(c.input + place(inputs, at / count), run, images + at);
    }
    engine::NchwCall call;
    call.batch = 1;
    call.input_size = {1, count};
    call.in = images;
    call.weights = weights;
    call.bias = c.bias == nullptr ? nullptr : biases;
    call.out = results;
    call.scratch = buffers + bytes_of(block * inputs) + bytes_of(block * outputs);
    engine::CallingThread thread;
    engine::convolve_patches(params, call, thread);
    const size_t written = blocks == 1 ? pixels * outputs : count;
    for (size_t at = 0; at < count * outputs; at += written) {
      c.write(results + at, written, c.out + place(outputs, at / count));
    }
  });
  return true;
}

/// Depthwise, some channels of an image at a time.
bool convolve_channels(KernelRuntimeContext& ctx, const ReducedConvolution& c,
                       const Conv2dParams& all) {
  const ConvGeometry& g = c.g;
  const engine::ImageSize size = {size_t(g.in[1]), size_t(g.in[2])};
  const size_t pixels = size.height * size.width, outputs = size_t(c.pixels());
  const size_t taps = all.kernel_height * all.kernel_width, channels = all.groups;
  const size_t block =
      std::clamp<size_t>(kElementsOfPlanes / std::max(pixels, outputs), 1, channels);
  const size_t blocks = engine::divide_up(channels, block);
  Conv2dParams part = all;
  part.groups = block;
  KernelThreads threads(size_t(g.batch) * channels * outputs * taps, kMinDepthwiseWork);
  const size_t constants = bytes_of(channels * taps) + bytes_of(channels);
  const size_t worker_bytes =
      bytes_of(block * pixels) + bytes_of(block * outputs) +
      engine::round_up(engine::planes_scratch_bytes(part, size, 1), engine::kAlignment);
  char* const memory = static_cast<char*>(
      scratch_for(ctx, threads, [&](size_t count) { return constants + count * worker_bytes; }));
  if (memory == nullptr) return false;
  float* const weights = reinterpret_cast<float*>(memory);
  float* const biases = reinterpret_cast<float*>(memory + bytes_of(channels * taps));
  c.read(c.weight.data, channels * taps, weights);
  if (c.bias != nullptr) c.read(c.bias, channels, biases);
  engine::for_each_item(threads, size_t(g.batch) * blocks, [&](size_t item, size_t worker) {
    char* const buffers = memory + constants + worker * worker_bytes;
    const size_t first = item % blocks * block, image = item / blocks * channels + first;
    Conv2dParams params = part;
    params.groups = std::min(block, channels - first);
    float* const planes = reinterpret_cast<float*>(buffers);
    float* const results = reinterpret_cast<float*>(buffers + bytes_of(block * pixels));
    c.read(c.input + int64_t(image * pixels) * c.width(), params.groups * pixels, planes);
    engine::PlanesCall call;
    call.batch = 1;
    call.input_size = size;
    call.in = planes;
    call.weights = weights + first * taps;
    call.bias = c.bias == nullptr ? nullptr : biases + first;
    call.out = results;
    call.scratch = buffers + bytes_of(block * pixels) + bytes_of(block * outputs);
    engine::CallingThread thread;
    engine::convolve_planes(params, call, thread);
    c.write(results, params.groups * outputs, c.out + int64_t(image * outputs) * c.width());
  });
  return true;
}

}  // namespace

bool convolve_reduced(KernelRuntimeContext& ctx, const ConvGeometry& g, const Tensor& input,
                      const Strided& weight, const std::optional<Tensor>& bias, ImageLayout layout,
                      Tensor& out) {
  const ReducedConvolution c = {g,
                                input.scalar_type(),
                                layout,
                                static_cast<const char*>(input.const_data_ptr()),
                                weight,
                                bias ? static_cast<const char*>(bias->const_data_ptr()) : nullptr,
                                static_cast<char*>(out.mutable_data_ptr()),
                                load(input.scalar_type(), Compute::Float),
                                store(Compute::Float, input.scalar_type())};
  const Conv2dParams params = params_of(g);
  if (is_pointwise(g)) {
    if (layout == ImageLayout::Nhwc || c.pixels() == 1) return multiply_channels(ctx, c);
    if (in_index_order(weight)) return convolve_pixels(ctx, c, params);
  }
  const bool is_depthwise = g.in_channels == 1 && g.out_channels == 1 && g.groups > 1;
  if (is_depthwise && layout == ImageLayout::Nchw && !g.transposed && in_index_order(weight) &&
      engine::planes_are_faster(params, {size_t(g.in[1]), size_t(g.in[2])})) {
    return convolve_channels(ctx, c, params);
  }
  return convolve_converted(ctx, c, params);
}

}  // namespace executorch::kernels::optimized
