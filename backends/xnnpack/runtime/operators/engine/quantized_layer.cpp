// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/engine/quantized_layer.h>

#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/qgemm/qconv.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;

bool QuantizedLayer::runs_on_engine() const {
  const bool are_constant = filter.is_constant() && (bias == nullptr || bias->is_constant());
  const bool is_static = operand.datatype == Datatype::QInt8 &&
                         result.datatype == Datatype::QInt8 && filter.zero_point == 0;
  const bool to_float = is_dynamic() && result.datatype == Datatype::Float32;
  return are_constant &&
         (filter.datatype == Datatype::QCInt8 ||
          (filter.datatype == Datatype::QInt8 && is_static)) &&
         (is_static || to_float);
}

std::vector<float> QuantizedLayer::scales(size_t outputs) const {
  std::vector<float> scales(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    const float weight = filter.channel_scales == nullptr ? filter.scale : filter.channel_scales[i];
    scales[i] = is_dynamic() ? weight : operand.scale * weight / result.scale;
  }
  return scales;
}

engine::QColumns QuantizedLayer::columns(const std::vector<float>& scales) const {
  engine::QColumns columns;
  columns.scales = scales.data();
  columns.is_dynamic = is_dynamic();
  if (columns.is_dynamic) {
    columns.float_bias = bias_data<float>();
  } else {
    columns.input_zero_point = operand.zero_point;
    columns.bias = bias_data<int32_t>();
  }
  return columns;
}

engine::Requantization QuantizedLayer::requantization(const Clamp& clamp) const {
  const IntegerClamp<int8_t> limits = quantized_clamp<int8_t>(clamp, result);
  return {result.zero_point, limits.min, limits.max};
}

namespace {

engine::ByteQuantization quantization_of(const Value& value) {
  return {value.scale, value.zero_point};
}

}  // namespace

QuantizedTail::QuantizedTail(const Node& node, const OperatorContext& context) {
  if (node.residual == kNoValue) {
    return;
  }
  const std::vector<Value>& values = context.graph.values;
  const Value& result = values[node.result()];
  sum_ = engine::QSum::plan(quantization_of(values[node.unfused]),
                            quantization_of(values[node.residual]), quantization_of(result));
  const IntegerClamp<int8_t> limits = quantized_clamp<int8_t>(node.clamp, result);
  sum_.out_min = limits.min;
  sum_.out_max = limits.max;
}

void QuantizedTail::finish(const Tensors& t) const {
  if (scratch_bytes_ == 0) {
    return;
  }
  const Shape& shape = *t.results[0].shape;
  size_t strides[2][Shape::kMaxRank];
  broadcast_strides(*t.unfused.shape, shape, strides[0]);
  broadcast_strides(*t.residual.shape, shape, strides[1]);
  const auto* const product = static_cast<const int8_t*>(t.scratch);
  const auto* const residual = static_cast<const int8_t*>(t.residual.data);
  auto* const out = static_cast<int8_t*>(t.results[0].data);
  const auto total = static_cast<size_t>(elements(shape));
  for (size_t i = 0; i < total; ++i) {
    size_t at[2] = {}, rest = i;
    for (size_t d = shape.rank; d-- > 0;) {
      const size_t coordinate = rest % static_cast<size_t>(shape.dims[d]);
      rest /= static_cast<size_t>(shape.dims[d]);
      at[0] += coordinate * strides[0][d];
      at[1] += coordinate * strides[1][d];
    }
    out[i] = sum_(product[at[0]], residual[at[1]]);
  }
}

namespace {

/// True if the engine computes this depthwise convolution. XNNPACK is faster than plain C++.
bool has_depthwise_kernel(const fb::Convolution& n) {
  return n.group_input_channels() == 1 && n.group_output_channels() == 1 &&
         (engine::instruction_set() >= engine::InstructionSet::Avx2 || !has_library());
}

}  // namespace

bool is_engine_quantized(const Node& node, const OperatorContext& context) {
  if (node.kind == NodeKind::FullyConnected) {
    return QuantizedLayer(node, context).runs_on_engine();
  }
  if ((node.kind != NodeKind::Conv2d && node.kind != NodeKind::DepthwiseConv2d) ||
      (node.flags & kSamePadding) != 0) {
    return false;
  }
  const auto& n = node.as<fb::Convolution>();
  const bool is_product = n.groups() == 1 || n.group_input_channels() > 1;
  return (is_product || has_depthwise_kernel(n)) && QuantizedLayer(node, context).runs_on_engine();
}

bool adds_quantized(const Node& node, const OperatorContext& context) {
  return is_engine_quantized(node, context) && !QuantizedLayer(node, context).is_dynamic() &&
         (node.kind == NodeKind::FullyConnected ||
          engine::QConv2d::plan(convolution_params(node)).adds());
}

}  // namespace executorch::backends::xnnpack
