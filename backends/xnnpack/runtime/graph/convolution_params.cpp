// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>

namespace executorch::backends::xnnpack {

kernels::engine::Conv2dParams convolution_params(const Node& node) {
  const auto& n = node.as<fb_xnnpack::Convolution>();
  const Window2d& w = node.window;
  kernels::engine::Conv2dParams params;
  params.groups = n.groups();
  params.group_inputs = n.group_input_channels();
  params.group_outputs = n.group_output_channels();
  params.kernel_height = w.height;
  params.kernel_width = w.width;
  params.stride_height = w.stride_height;
  params.stride_width = w.stride_width;
  params.dilation_height = w.dilation_height;
  params.dilation_width = w.dilation_width;
  params.pad_top = w.top;
  params.pad_left = w.left;
  params.pad_bottom = w.bottom;
  params.pad_right = w.right;
  params.transposed = node.kind == NodeKind::ConvTranspose2d;
  if (params.transposed) {
    params.output_pad_height = n.adjustment_height();
    params.output_pad_width = n.adjustment_width();
  }
  return params;
}

}  // namespace executorch::backends::xnnpack
