// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Two-dimensional convolutions of float32 images in NHWC:
//
//   out[n, y, x, g * O + o] = epilogue(bias[g * O + o] + sum over ky, kx, i of
//       weight[g * O + o, ky, kx, i]
//       * in[n, y * stride_h + ky * dilation_h - pad_top, x * stride_w + … - pad_left, g * I + i])
//
// with zeros outside of the image. Transposed: in[n, y', x', …] contributes to
// out[n, y' * stride_h + ky * dilation_h - pad_top, …] instead.
//
// A plan chooses the algorithm: a matrix product (1 x 1), products through an indirection buffer or
// directly on windows of the image, Winograd's F(2x2, 3x3) (winograd.h), or a depthwise kernel
// (depthwise.h). Any input size may follow; the expected one only steers the choice. Strides count
// floats. Nothing is read beyond the pixels' channels. `output` must not overlap an input. A
// product with padding is a product with zero: an infinite weight makes it NaN, as in eager
// PyTorch's im2col; Winograd refuses such weights (accepts()). Plans may round factors to bfloat16
// (precision.h): the image is then rounded into scratch memory at every call, or has been rounded
// by the convolution that wrote it (reading_pairs(), writing_pairs()). Winograd,
// depthwise and transposed convolutions always multiply float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

struct ImageSize {
  size_t height = 0, width = 0;
};

struct Conv2dParams {
  size_t groups = 1;
  size_t group_inputs = 1, group_outputs = 1;
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool transposed = false;
  size_t output_pad_height = 0, output_pad_width = 0;  ///< transposed only
};

/// The size of the output; 0 where the padded image is smaller than the window.
ImageSize output_size(const Conv2dParams& params, ImageSize input);

/// weight(output, ky, kx, input) = data[output * output_stride + ky * y_stride + …]; `output`
/// counts through all groups, `input` within one.
struct ConvWeights {
  const float* data;
  size_t output_stride, y_stride, x_stride, input_stride;
  const float* bias;  ///< groups * group_outputs floats; null for zeros

  /// [outputs, kernel_height, kernel_width, group_inputs]: the fastest to pack.
  static ConvWeights ohwi(const Conv2dParams& params, const float* data, const float* bias);
  /// [kernel_height, kernel_width, outputs], for group_inputs == 1 (depthwise)
  static ConvWeights hwo(const Conv2dParams& params, const float* data, const float* bias);
};

enum class ConvAlgorithm : uint8_t { Product, Windows, Winograd, Depthwise, Transposed };

struct Conv2dCall {
  size_t batch = 0;
  ImageSize input_size;
  const float* input = nullptr;
  size_t input_pixel_stride = 0;  ///< from a pixel to its right neighbor; lines are contiguous
  const float* packed = nullptr;  ///< as Conv2d::pack() wrote it
  float* output = nullptr;
  size_t output_pixel_stride = 0;
  Epilogue epilogue;
  void* scratch = nullptr;  ///< scratch_bytes(), aligned to kAlignment
};

/// Images and weights where they lie, contiguous in NCHW, for convolutions without packed weights
/// (planes/planes.h, conv/patches.h).
struct NchwCall {
  size_t batch = 0;
  ImageSize input_size;
  const float* in = nullptr;
  const float* weights = nullptr;  ///< [outputs, group_inputs, kernel_height, kernel_width]
  const float* bias = nullptr;     ///< outputs; null for zeros
  float* out = nullptr;
  void* scratch = nullptr;  ///< aligned to kAlignment
};

/// A convolution with constant weights. A small value: copy it freely.
class Conv2d {
 public:
  /// expected: the batch and input size that the program was made for; zeros where unknown.
  static Conv2d plan(const Conv2dParams& params, size_t expected_batch, ImageSize expected_input,
                     InstructionSet set = instruction_set(),
                     Precision precision = Precision::Float32);

  const Conv2dParams& params() const { return params_; }
  /// The precision of the factors: Float32 if rounding was permitted but saves no time.
  Precision precision() const;
  ConvAlgorithm algorithm() const { return algorithm_; }
  /// True if this plan can pack these weights. Winograd refuses infinite, NaN and very large
  /// weights; then use without_winograd(). Winograd plans read all weights; others accept any.
  bool accepts(const ConvWeights& weights) const;
  /// The same convolution as matrix products.
  Conv2d without_winograd() const;
  /// True if the image, or the output, may be pairs of bfloat16 (gemm/bf16.h): pixels without gaps,
  /// each with an even number of channels. The input and output pointers and strides of a call then
  /// count pairs. Pairs have half of the size, and an output of pairs no residual.
  bool can_read_pairs() const;
  /// @param activation The epilogue's. Products write pairs without one only.
  bool can_write_pairs(Activation activation) const;
  Conv2d reading_pairs() const;
  Conv2d writing_pairs() const;

  /// Identifies the packed form, as Gemm::layout() does; differs between algorithms.
  uint32_t layout() const;
  size_t packed_bytes() const;
  /// Writes every byte of `packed`, which is aligned to kAlignment.
  void pack(const ConvWeights& weights, float* packed, Threads& threads) const;

  size_t scratch_bytes(size_t batch, ImageSize input, size_t threads) const;
  void run(const Conv2dCall& call, Threads& threads) const;

 private:
  Conv2dParams params_;
  ConvAlgorithm algorithm_ = ConvAlgorithm::Windows;
  InstructionSet set_ = InstructionSet::Scalar;
  Precision permitted_ = Precision::Float32;
  bool reads_pairs_ = false, writes_pairs_ = false;
};

}  // namespace executorch::kernels::engine
