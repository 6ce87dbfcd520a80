// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The choice of a convolution's algorithm.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/conv/transposed.h>
#include <executorch/kernels/engine/conv/windows.h>
#include <executorch/kernels/engine/depthwise/depthwise.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/winograd/winograd.h>

namespace executorch::kernels::engine {
namespace {

/// With more outputs per channel, products have enough columns; with fewer channels, vectors of
/// channels would be mostly empty.
constexpr size_t kMaxDepthwiseMultiplier = 8;
constexpr size_t kMinMultipliedChannels = 16;

size_t extent(size_t kernel, size_t dilation) {
  return kernel == 0 ? 0 : (kernel - 1) * dilation + 1;
}

size_t windows_along(size_t padded, size_t extent, size_t stride) {
  return padded < extent ? 0 : (padded - extent) / stride + 1;
}

size_t transposed_size(size_t input, size_t stride, size_t extent, size_t padding, size_t added) {
  if (input == 0) return 0;
  const size_t size = (input - 1) * stride + extent + added;
  return size < padding ? 0 : size - padding;
}

/// True for the kernels of depthwise.h.
bool is_depthwise(const Conv2dParams& p, InstructionSet set) {
  if (p.transposed) return false;
  // A tile of products would be at most half full.
  if (p.group_inputs != 1) return has_small_groups(p) && p.group_outputs < gemm_tiles(set).panel;
  if (p.group_outputs == 1) return p.groups > 1;
  return p.groups >= kMinMultipliedChannels && p.group_outputs <= kMaxDepthwiseMultiplier;
}

bool is_pointwise(const Conv2dParams& p) {
  return !p.transposed && p.groups == 1 && p.kernel_height == 1 && p.kernel_width == 1 &&
         p.stride_height == 1 && p.stride_width == 1 &&
         p.pad_top + p.pad_left + p.pad_bottom + p.pad_right == 0;
}

ConvAlgorithm algorithm_of(const Conv2dParams& p, size_t batch, ImageSize input, InstructionSet set,
                           Precision precision) {
  if (p.transposed) return ConvAlgorithm::Transposed;
  if (is_depthwise(p, set)) return ConvAlgorithm::Depthwise;
  if (is_pointwise(p)) return ConvAlgorithm::Product;
  // Rounding to bfloat16 saves as much time as Winograd's fewer products.
  if (precision != Precision::Float32) return ConvAlgorithm::Windows;
  return winograd_is_faster(p, batch, input, set) ? ConvAlgorithm::Winograd
                                                  : ConvAlgorithm::Windows;
}

Gemm gemm_of(const Conv2dParams& p, InstructionSet set, Precision precision) {
  return Gemm::plan(p.group_outputs, p.group_inputs, set, precision);
}

/// The minimum window on RGB images whose factors are rounded. Rounding those of 3 x 3 windows too
/// makes MobileNetV2 1 % faster and 0.6 dB less accurate.
constexpr size_t kMinRgbTaps = 16;

/// The precision of products for windows; tiles may still be those of float32. A pixel in RGB is
/// two pairs.
Precision windows_precision(const Conv2dParams& p, Precision permitted) {
  const size_t taps = p.kernel_height * p.kernel_width;
  const bool is_rgb = p.groups == 1 && p.group_inputs == 3 && taps >= kMinRgbTaps;
  return profitable_precision(permitted, p.group_outputs, is_rgb ? taps : p.group_inputs);
}

size_t image_words(const GemmTiles& tiles, const Conv2dParams& p, size_t batch, ImageSize input) {
  return batch * input.height * input.width * p.groups * tiles.words(p.group_inputs);
}

/// Bytes of an image whose pixels are rounded to bfloat16, in front of other scratch memory.
size_t narrowed_bytes(const GemmTiles& tiles, const Conv2dParams& p, size_t batch,
                      ImageSize input) {
  if (tiles.precision == Precision::Float32) return 0;
  return round_up(image_words(tiles, p, batch, input) * sizeof(float), kAlignment);
}

}  // namespace

ImageSize output_size(const Conv2dParams& p, ImageSize input) {
  const size_t high = extent(p.kernel_height, p.dilation_height);
  const size_t wide = extent(p.kernel_width, p.dilation_width);
  if (p.transposed) {
    return {transposed_size(input.height, p.stride_height, high, p.pad_top + p.pad_bottom,
                            p.output_pad_height),
            transposed_size(input.width, p.stride_width, wide, p.pad_left + p.pad_right,
                            p.output_pad_width)};
  }
  return {windows_along(input.height + p.pad_top + p.pad_bottom, high, p.stride_height),
          windows_along(input.width + p.pad_left + p.pad_right, wide, p.stride_width)};
}

ConvWeights ConvWeights::ohwi(const Conv2dParams& p, const float* data, const float* bias) {
  const size_t line = p.kernel_width * p.group_inputs;
  return {data, p.kernel_height * line, line, p.group_inputs, 1, bias};
}

ConvWeights ConvWeights::hwo(const Conv2dParams& p, const float* data, const float* bias) {
  const size_t outputs = p.groups * p.group_outputs;
  return {data, 1, p.kernel_width * outputs, outputs, 1, bias};
}

Conv2d Conv2d::plan(const Conv2dParams& params, size_t expected_batch, ImageSize expected_input,
                    InstructionSet set, Precision precision) {
  Conv2d conv;
  conv.params_ = params;
  const Precision of_windows = gemm_tiles(set, windows_precision(params, precision)).precision;
  conv.algorithm_ = algorithm_of(params, expected_batch, expected_input, set, of_windows);
  conv.set_ = set;
  conv.permitted_ = precision;
  return conv;
}

Precision Conv2d::precision() const {
  switch (algorithm_) {
    case ConvAlgorithm::Product:
      return gemm_of(params_, set_, permitted_).precision();
    case ConvAlgorithm::Windows:
      return gemm_tiles(set_, windows_precision(params_, permitted_)).precision;
    default:
      return Precision::Float32;
  }
}

bool Conv2d::accepts(const ConvWeights& weights) const {
  return algorithm_ != ConvAlgorithm::Winograd || winograd_accepts(params_, weights);
}

Conv2d Conv2d::without_winograd() const {
  Conv2d conv = *this;
  if (algorithm_ == ConvAlgorithm::Winograd) conv.algorithm_ = ConvAlgorithm::Windows;
  return conv;
}

bool Conv2d::can_read_pairs() const {
  return precision() == Precision::BFloat16 && params_.groups == 1 && params_.group_inputs % 2 == 0;
}

bool Conv2d::can_write_pairs(Activation activation) const {
  switch (algorithm_) {
    case ConvAlgorithm::Depthwise:
      return gemm_tiles(set_, Precision::BFloat16).precision == Precision::BFloat16 &&
             params_.groups * params_.group_outputs % 2 == 0;
    case ConvAlgorithm::Product:
      return activation == Activation::None && gemm_of(params_, set_, permitted_).can_write_pairs();
    case ConvAlgorithm::Windows: {
      const GemmTiles& tiles = gemm_tiles(set_, precision());
      const size_t taps = params_.kernel_height * params_.kernel_width;
      return activation == Activation::None && tiles.writes_pairs &&
             params_.group_outputs % 2 == 0 &&
             is_one_block(taps * tiles.words(params_.group_inputs));
    }
    default:
      return false;
  }
}

Conv2d Conv2d::reading_pairs() const {
  Conv2d conv = *this;
  conv.reads_pairs_ = true;
  return conv;
}

Conv2d Conv2d::writing_pairs() const {
  Conv2d conv = *this;
  conv.writes_pairs_ = true;
  return conv;
}

uint32_t Conv2d::layout() const {
  const size_t panel =
      algorithm_ == ConvAlgorithm::Depthwise ? kDepthwiseBlock : gemm_tiles(set_).panel;
  return uint32_t(algorithm_) << 16 | uint32_t(precision()) << 12 | uint32_t(panel);
}

size_t Conv2d::packed_bytes() const {
  switch (algorithm_) {
    case ConvAlgorithm::Product:
      return gemm_of(params_, set_, permitted_).packed_bytes();
    case ConvAlgorithm::Winograd:
      return winograd_packed_bytes(params_, set_);
    case ConvAlgorithm::Depthwise:
      return depthwise_packed_bytes(params_);
    case ConvAlgorithm::Transposed:
      return transposed_packed_bytes(gemm_tiles(set_), params_);
    case ConvAlgorithm::Windows:
      break;
  }
  const GemmTiles& tiles = gemm_tiles(set_, precision());
  return windows_packed_bytes(tiles, in_words(tiles, params_));
}

void Conv2d::pack(const ConvWeights& weights, float* packed, Threads& threads) const {
  switch (algorithm_) {
    case ConvAlgorithm::Product:
      return gemm_of(params_, set_, permitted_)
          .pack({weights.data, weights.input_stride, weights.output_stride}, weights.bias, packed,
                threads);
    case ConvAlgorithm::Winograd:
      return pack_winograd(params_, weights, packed, threads, set_);
    case ConvAlgorithm::Depthwise:
      return pack_depthwise(params_, weights, packed);
    case ConvAlgorithm::Transposed:
      return pack_transposed(gemm_tiles(set_), params_, weights, packed);
    case ConvAlgorithm::Windows:
      break;
  }
  pack_windows(gemm_tiles(set_, precision()), params_, weights, packed, threads);
}

size_t Conv2d::scratch_bytes(size_t batch, ImageSize input, size_t threads) const {
  switch (algorithm_) {
    case ConvAlgorithm::Product:
      if (reads_pairs_) return 0;
      return gemm_of(params_, set_, permitted_).scratch_bytes(batch * input.height * input.width);
    case ConvAlgorithm::Winograd:
      return winograd_scratch_bytes(params_, batch, input, threads, set_);
    case ConvAlgorithm::Depthwise:
      return depthwise_scratch_bytes(params_, input, threads, writes_pairs_);
    case ConvAlgorithm::Transposed:
      return transposed_scratch_bytes(params_, input, threads);
    case ConvAlgorithm::Windows:
      break;
  }
  const GemmTiles& tiles = gemm_tiles(set_, precision());
  return (reads_pairs_ ? 0 : narrowed_bytes(tiles, params_, batch, input)) +
         windows_scratch_bytes(tiles, in_words(tiles, params_), input, threads);
}

void Conv2d::run(const Conv2dCall& call, Threads& threads) const {
  const ImageSize output = output_size(params_, call.input_size);
  if (call.batch == 0 || output.height * output.width == 0) return;
  switch (algorithm_) {
    case ConvAlgorithm::Product: {
      GemmCall product;
      product.rows = call.batch * output.height * output.width;
      product.left = call.input;
      product.left_stride = call.input_pixel_stride;
      product.left_is_pairs = reads_pairs_;
      product.packed = call.packed;
      product.out = call.output;
      product.out_stride = call.output_pixel_stride;
      product.out_is_pairs = writes_pairs_;
      product.epilogue = call.epilogue;
      product.scratch = call.scratch;
      return gemm_of(params_, set_, permitted_).run(product, threads);
    }
    case ConvAlgorithm::Winograd:
      return winograd(params_, call, threads, set_);
    case ConvAlgorithm::Depthwise:
      return depthwise(params_, call, threads, set_, writes_pairs_);
    case ConvAlgorithm::Transposed:
      return convolve_transposed(gemm_tiles(set_), params_, call, threads);
    case ConvAlgorithm::Windows:
      break;
  }
  const GemmTiles& tiles = gemm_tiles(set_, precision());
  if (tiles.precision == Precision::Float32) {
    convolve_windows(tiles, params_, call, writes_pairs_, threads);
    return;
  }
  if (reads_pairs_) {
    convolve_windows(tiles, in_words(tiles, params_), call, writes_pairs_, threads);
    return;
  }
  auto* const narrowed = static_cast<float*>(call.scratch);
  narrow_rows({call.input, call.batch * call.input_size.height * call.input_size.width,
               call.input_pixel_stride, params_.groups, params_.group_inputs, narrowed},
              threads);
  Conv2dCall of_pairs = call;
  of_pairs.input = narrowed;
  of_pairs.input_pixel_stride = params_.groups * tiles.words(params_.group_inputs);
  of_pairs.scratch =
      moved(call.scratch, narrowed_bytes(tiles, params_, call.batch, call.input_size));
  convolve_windows(tiles, in_words(tiles, params_), of_pairs, writes_pairs_, threads);
}

}  // namespace executorch::kernels::engine
