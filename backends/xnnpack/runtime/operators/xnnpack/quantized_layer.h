// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Arguments with which XNNPACK creates quantized linear layers and convolutions. A `Creation` has
// the layer's node and values, and call(), which adds the arguments that all datatypes share.
#pragma once

#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>

namespace executorch::backends::xnnpack {

/// The operands and flags with which XNNPACK creates a linear layer or a convolution.
struct LayerCreation {
  const Node& node;
  const OperatorContext& context;
  const Value &operand, &filter, &result;
  const void* bias;
  uint32_t flags = 0;
  xnn_operator_t handle = nullptr;

  LayerCreation(const Node& of, const OperatorContext& in)
      : node(of),
        context(in),
        operand(in.graph.values[of.operand(0)]),
        filter(in.graph.values[of.operand(1)]),
        result(in.graph.values[of.result()]),
        bias(of.operand(2) == kNoValue ? nullptr : in.graph.values[of.operand(2)].data) {}
};

template <typename T>
struct Quantized {
  T operand_zero_point, result_zero_point;
  IntegerClamp<T> clamp;

  template <typename Creation>
  explicit Quantized(const Creation& c)
      : operand_zero_point(static_cast<T>(c.operand.zero_point)),
        result_zero_point(static_cast<T>(c.result.zero_point)),
        clamp(quantized_clamp<T>(c.node.clamp, c.result)) {}
};

/// Arguments for each datatype of weights: int8 by tensor, int8 by channel, uint8 by tensor.
template <auto create, typename Creation>
xnn_status create_qs8(Creation& c) {
  const Quantized<int8_t> q(c);
  return c.call(create, q.operand_zero_point, c.operand.scale, c.filter.scale, any(c.filter.data),
                any(c.bias), q.result_zero_point, c.result.scale, q.clamp.min, q.clamp.max);
}
template <auto create, typename Creation>
xnn_status create_qc8(Creation& c) {
  const Quantized<int8_t> q(c);
  return c.call(create, q.operand_zero_point, c.operand.scale, c.filter.channel_scales,
                any(c.filter.data), any(c.bias), q.result_zero_point, c.result.scale, q.clamp.min,
                q.clamp.max);
}
template <auto create, typename Creation>
xnn_status create_qu8(Creation& c) {
  const Quantized<uint8_t> q(c);
  return c.call(create, q.operand_zero_point, c.operand.scale,
                static_cast<uint8_t>(c.filter.zero_point), c.filter.scale, any(c.filter.data),
                any(c.bias), q.result_zero_point, c.result.scale, q.clamp.min, q.clamp.max);
}

}  // namespace executorch::backends::xnnpack
