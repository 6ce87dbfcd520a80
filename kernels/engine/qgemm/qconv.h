// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Two-dimensional convolutions of int8 images in NHWC: the sums of conv.h, without transposition,
// of (in - zero point) and weights, quantized as qgemm.h says. Padding is the zero point. Strides
// count elements. Groups of one input and one output are computed by a depthwise kernel
// (qdepthwise/qdepthwise.h), all others as matrix products or, if it is faster, by Winograd's
// algorithm (qwinograd/qwinograd.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>

namespace executorch::kernels::engine {

/// As ConvWeights.
struct QConvWeights {
  const int8_t* data;
  size_t output_stride, y_stride, x_stride, input_stride;
};

struct QConv2dCall {
  size_t batch = 0;
  ImageSize input_size;
  const int8_t* input = nullptr;
  size_t input_pixel_stride = 0;
  const void* packed = nullptr;
  int32_t input_zero_point = 0;
  int8_t* output = nullptr;
  size_t output_pixel_stride = 0;
  Requantization to;
  /// As in QGemmCall, with the strides of the output; not for depthwise convolutions.
  const int8_t* residual = nullptr;
  QSum sum;
  void* scratch = nullptr;
};

/// A convolution of images that were quantized at run time. The result is float32.
struct DynamicQConv2dCall {
  size_t batch = 0;
  ImageSize input_size;
  const int8_t* input = nullptr;
  size_t input_pixel_stride = 0;
  const RowQuantization* parameters = nullptr;  ///< one an image
  const void* packed = nullptr;
  float* output = nullptr;
  size_t output_pixel_stride = 0;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
  void* scratch = nullptr;
};

class QConv2d {
 public:
  static QConv2d plan(const Conv2dParams& params, InstructionSet set = instruction_set());

  /// True if it adds a residual.
  bool adds() const;
  uint32_t layout() const;
  size_t packed_bytes() const;
  /// The columns are outputs, counted through all groups.
  void pack(const QConvWeights& weights, const QColumns& columns, void* packed) const;
  size_t scratch_bytes(size_t batch, ImageSize input, size_t threads) const;
  void run(const QConv2dCall& call, Threads& threads) const;
  void run_dynamic(const DynamicQConv2dCall& call, Threads& threads) const;

 private:
  /// Calls the function for the algorithm that computes these images, the only place that chooses.
  template <class Depthwise, class Winograd, class Product>
  auto by_algorithm(size_t batch, ImageSize input, const Depthwise& depthwise,
                    const Winograd& winograd, const Product& product) const;
  /// Convolutions as matrix products.
  void multiply(const QConv2dCall& call, Threads& threads) const;
  void multiply(const DynamicQConv2dCall& call, Threads& threads) const;

  Conv2dParams params_;
  const QGemmTiles* tiles_ = nullptr;
  InstructionSet set_ = InstructionSet::Scalar;
};

}  // namespace executorch::kernels::engine
