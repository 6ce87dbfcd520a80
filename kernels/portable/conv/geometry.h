// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks the arguments of a convolution and converts them to loops.
#pragma once

#include <executorch/kernels/portable/spatial/plane.h>

namespace executorch::kernels::portable {

/// The arguments of aten::convolution that are lists or flags.
struct ConvArguments {
  ArrayRef<int64_t> stride, padding, dilation;
  bool transposed;
  ArrayRef<int64_t> output_padding;
  int64_t groups;
};

/// A checked convolution. Channels are those of one group.
struct ConvGeometry {
  bool transposed;
  bool batched;
  int spatial;  ///< dimensions that the tensors really have
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[kSpatial], out[kSpatial], kernel[kSpatial];
  int64_t stride[kSpatial], padding[kSpatial], dilation[kSpatial];

  Shape out_shape() const;
  /// A transposed convolution with stride s is s ordinary ones of stride 1 in each dimension, one
  /// for each remainder of the output index; an ordinary one has a single phase.
  int64_t phases(int d) const;
  WindowAxis axis(int d, int64_t phase) const;
  /// The convolution by the same weights that takes gradients of the output to those of the input.
  ConvGeometry adjoint() const;
};

/// Checks all sizes and fills `geometry`; else fails the context.
bool conv_geometry(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, const ConvArguments& arguments,
                   ConvGeometry* geometry);

}  // namespace executorch::kernels::portable
