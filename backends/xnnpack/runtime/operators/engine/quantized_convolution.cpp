// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of int8 on the engine.
#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/operators/engine/quantized_layer.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/kernels/engine/qgemm/qconv.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

class QuantizedConvolution final : public EngineOperator {
 public:
  QuantizedConvolution(const Node& node, const OperatorContext& context,
                       const QuantizedLayer& layer)
      : EngineOperator(
            layer.is_dynamic() ? "Convolution (NHWC, QD8, F32, QC8W) IGEMM" : label(node), context),
        is_dynamic_(layer.is_dynamic()),
        is_depthwise_(node.kind == NodeKind::DepthwiseConv2d),
        clamp_(node.clamp),
        params_(convolution_params(node)),
        plan_(engine::QConv2d::plan(params_)),
        zero_point_(layer.operand.zero_point),
        tail_(node, context) {
    if (!is_dynamic_) {
      to_ = layer.requantization(clamp_of_product(node));
    }
  }

  Error pack(const OperatorContext& context, const QuantizedLayer& layer) {
    const engine::QConvWeights weights = weights_at(static_cast<const int8_t*>(layer.filter.data));
    const std::vector<float> scales = layer.scales(params_.groups * params_.group_outputs);
    return packed_.create(context, plan_.layout(), layer.filter, layer.bias, plan_.packed_bytes(),
                          [&](float* to) {
                            plan_.pack(weights, layer.columns(scales), to);
                            return true;
                          });
  }

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    batch_ = static_cast<size_t>(x.dims[0]);
    size_ = {static_cast<size_t>(x.dims[1]), static_cast<size_t>(x.dims[2])};
    tail_.reshape(t);
    set_scratch(tail_.scratch_bytes() + plan_.scratch_bytes(batch_, size_, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    if (is_dynamic_) {
      engine::DynamicQConv2dCall call;
      set(&call);
      call.parameters = row_parameters(tensors().operands[0]);
      call.output = result();
      call.clamp_min = clamp_.min;
      call.clamp_max = clamp_.max;
      plan_.run_dynamic(call, threads());
    } else {
      engine::QConv2dCall call;
      set(&call);
      call.input_zero_point = zero_point_;
      tail_.set(tensors(), &call.output, &call);
      call.to = to_;
      plan_.run(call, threads());
      tail_.finish(tensors());
    }
    return Error::Ok;
  }

 private:
  static const char* label(const Node& node) {
    return node.kind == NodeKind::DepthwiseConv2d ? "Convolution (NHWC, QC8) DWConv"
                                                  : "Convolution (NHWC, QC8) IGEMM";
  }

  engine::QConvWeights weights_at(const int8_t* data) const {
    const size_t inputs = params_.group_inputs, row = params_.kernel_width;
    if (is_depthwise_) {  // [height, width, outputs]
      const size_t outputs = params_.groups * params_.group_outputs;
      return {data, 1, row * outputs, outputs, 1};
    }
    return {data, params_.kernel_height * row * inputs, row * inputs, inputs, 1};
  }

  template <typename Call>
  void set(Call* call) const {
    call->batch = batch_;
    call->input_size = size_;
    call->input = static_cast<const int8_t*>(tensors().operands[0].data);
    call->input_pixel_stride = params_.groups * params_.group_inputs;
    call->packed = packed_.data();
    call->output_pixel_stride = params_.groups * params_.group_outputs;
    call->scratch = scratch() == nullptr ? nullptr : scratch() + tail_.scratch_bytes();
  }

  bool is_dynamic_, is_depthwise_;
  Clamp clamp_;
  engine::Conv2dParams params_;
  engine::QConv2d plan_;
  int32_t zero_point_;
  engine::Requantization to_;
  QuantizedTail tail_;
  PackedFloats packed_;
  size_t batch_ = 0;
  engine::ImageSize size_;
};

}  // namespace

OperatorResult create_quantized_convolution(const Node& node, const OperatorContext& context) {
  return is_engine_quantized(node, context)
             ? create_packed<QuantizedConvolution>(node, context, QuantizedLayer(node, context))
             : create_xnn_convolution(node, context);
}

}  // namespace executorch::backends::xnnpack
